package machines

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/journal"
)

// KeepCopies says of which sessions home keeps copies.
type KeepCopies string

// What home keeps copies of.
const (
	// KeepAll is all sessions of the machines.
	KeepAll KeepCopies = "all"
	// KeepOpened is the sessions that were opened at home.
	KeepOpened KeepCopies = "opened"
	// KeepNone is those that somebody looks at, as long as somebody does.
	KeepNone KeepCopies = "none"
)

// Keep says what copies home keeps. The zero value keeps those of opened sessions.
type Keep struct {
	Copies KeepCopies
	// Bytes is how much they may take; 0 is any amount. Those that were opened the longest
	// ago go first, and none that somebody looks at.
	Bytes int64
}

// keeping is what home keeps of copies, and how much they take. It is safe for concurrent use.
type keeping struct {
	logger *slog.Logger
	again  bell.Bell    // what is kept may have changed
	bytes  atomic.Int64 // what the copies take, about; -1 before they are measured
	room   room
	// changed is called when the machines' problems did. It is set before the copies are used.
	changed func()

	mu   sync.Mutex
	keep Keep
}

// set reports whether other sessions are kept than before.
func (k *keeping) set(keep Keep) (changed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changed = keep.Copies != k.keep.Copies
	k.keep = keep
	return changed
}

func (k *keeping) now() Keep {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keep
}

// grew adds what was written, once the copies were measured.
func (k *keeping) grew(bytes int) {
	if k.bytes.Load() >= 0 {
		k.bytes.Add(int64(bytes))
	}
}

// reached reports whether there is no room for more copies.
func (k *keeping) reached(keep Keep) bool { return keep.Bytes > 0 && k.bytes.Load() >= keep.Bytes }

// due reports whether copies are to be measured, and some perhaps removed.
func (k *keeping) due(keep Keep) bool {
	bytes := k.bytes.Load()
	return bytes < 0 || keep.Copies == KeepNone || keep.Bytes > 0 && bytes > keep.Bytes
}

// note says once that the disk is full, and once that it is not any more.
func (k *keeping) note(err error) {
	full := errors.Is(err, journal.ErrBlocked)
	switch {
	case err != nil && !full || !k.room.note(full):
	case full:
		k.logger.Error("there is no space for copies of machines' sessions: they stop; what is asked of machines goes on", "err", err)
		k.changed()
	default:
		k.logger.Info("there is space for copies again")
		k.changed()
		k.again.Ring()
	}
}
