// Package space knows what sessions take on disk, and which of them may be put away.
package space

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/abidehub/abide/session/behind"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
)

// Sessions are the files that a Book measures and the place where it keeps what it found.
type Sessions interface {
	Sizes(id string) (journal.Sizes, error)
	Derived() journal.Derived
}

// Book remembers the sizes of sessions, so that only those are measured in which something
// happened since. It is safe for concurrent use.
type Book struct {
	sessions Sessions
	logger   *slog.Logger

	mu      sync.Mutex
	kept    content
	unsaved bool
}

// fileName is a derived file: without it all sessions are measured again.
const fileName = "sizes.json"

// bookFormat is the format of the file.
const bookFormat = 1

// content is what the file has.
type content struct {
	Format   int                 `json:"format"`
	Sessions map[string]measured `json:"sessions"`
	// States are the bytes of the states of files, by session, and Copies those of the
	// working copies, by folder.
	States map[string]int64 `json:"states,omitempty"`
	Copies map[string]int64 `json:"copies,omitempty"`
	// Cleaned is when the hub cleaned by itself for the last time.
	Cleaned time.Time `json:"cleaned,omitzero"`
}

// measured are the sizes of a session as of one of its events.
type measured struct {
	Epoch string    `json:"epoch"`
	Seq   event.Seq `json:"seq"`
	Open  bool      `json:"open,omitempty"` // its log was open: closing it writes files
	journal.Sizes
}

// at is the state of a session by which it is known whether something happened.
func at(m journal.Metadata) measured {
	return measured{Epoch: m.Epoch, Seq: m.MaxSeq, Open: m.Writer != nil}
}

// OpenBook reads what was kept.
func OpenBook(sessions Sessions, logger *slog.Logger) *Book {
	b := &Book{sessions: sessions, logger: logger}
	data, err := sessions.Derived().Read(fileName)
	if err == nil {
		err = json.Unmarshal(data, &b.kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Info("the sizes of sessions are measured again", "err", err)
	}
	if err != nil || b.kept.Format != bookFormat || b.kept.Sessions == nil {
		b.kept = content{Format: bookFormat, Sessions: map[string]measured{}}
	}
	return b
}

// Measure measures the sessions in which something happened, until ctx ends. all are all
// sessions. It returns how many are still not measured.
func (b *Book) Measure(ctx context.Context, all iter.Seq[journal.Metadata]) (unmeasured int) {
	there := map[string]bool{}
	for m := range all {
		id, now := m.SessionID, at(m)
		there[id] = true
		b.mu.Lock()
		before, known := b.kept.Sessions[id]
		b.mu.Unlock()
		if now.Sizes = before.Sizes; known && now == before {
			continue
		}
		if ctx.Err() != nil {
			unmeasured++
			continue
		}
		sizes, err := b.sessions.Sizes(id)
		if err != nil {
			b.logger.Debug("a session was not measured", "session", id, "err", err) // it may be deleted
			continue
		}
		now.Sizes = sizes
		b.mu.Lock()
		b.kept.Sessions[id], b.unsaved = now, true
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.kept.Sessions)
	maps.DeleteFunc(b.kept.Sessions, func(id string, _ measured) bool { return !there[id] })
	b.unsaved = b.unsaved || len(b.kept.Sessions) < before
	return unmeasured
}

// At returns how far a session was measured.
func (b *Book) At(id string) behind.Place {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.kept.Sessions[id]
	return behind.Place{Epoch: of.Epoch, Seq: of.Seq}
}

// SetStates replaces what the states of files of sessions take.
func (b *Book) SetStates(bySession map[string]int64) {
	b.mu.Lock()
	b.kept.States, b.unsaved = bySession, true
	b.mu.Unlock()
}

// SetCopies replaces what the working copies take, by folder.
func (b *Book) SetCopies(byFolder map[string]int64) {
	b.mu.Lock()
	b.kept.Copies, b.unsaved = byFolder, true
	b.mu.Unlock()
}

// Cleaned returns when the hub cleaned by itself for the last time.
func (b *Book) Cleaned() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.Cleaned
}

// SetCleaned remembers that the hub cleaned by itself.
func (b *Book) SetCleaned(at time.Time) {
	b.mu.Lock()
	b.kept.Cleaned, b.unsaved = at.UTC(), true
	b.mu.Unlock()
}

// Save writes what is known, if that changed. After an error it is measured again at the
// next start. Two calls at once are not allowed.
func (b *Book) Save() {
	b.mu.Lock()
	if !b.unsaved {
		b.mu.Unlock()
		return
	}
	b.unsaved = false
	data, err := json.Marshal(b.kept)
	b.mu.Unlock()
	if err == nil {
		err = b.sessions.Derived().Write(fileName, data)
	}
	if err != nil {
		b.logger.Warn("the sizes of sessions are not kept", "err", err)
	}
}

// Of returns what a session takes, as of the last look.
func (b *Book) Of(info list.Info) Taken {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(info)
}

// of is called with the lock held.
func (b *Book) of(info list.Info) Taken {
	t := Taken{Sizes: b.kept.Sessions[info.SessionID].Sizes, States: b.kept.States[info.SessionID]}
	if info.Worktree != nil {
		t.Copy = b.kept.Copies[info.Worktree.Folder]
	}
	return t
}

// Taken is what a session takes, in bytes.
type Taken struct {
	journal.Sizes
	// States are those of its files that are kept for undo, Copy is its working copy.
	States, Copy int64
}

// Total is the sum of what goes with the session. Its working copy stays.
func (t Taken) Total() int64 { return t.Sizes.Total() + t.States }
