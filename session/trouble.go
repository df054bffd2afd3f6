package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/abidehub/abide/session/store"
)

// TroubleKind says what is wrong with a session.
type TroubleKind string

const (
	// TroubleUnreadable: its files cannot be opened, so nothing of it is shown.
	TroubleUnreadable TroubleKind = "unreadable"
	// TroubleDamaged: something of its log is lost or contradicts itself; the
	// rest is shown, and the session works.
	TroubleDamaged TroubleKind = "damaged"
	// TroubleFrozen: the device failed to keep what was written.
	TroubleFrozen TroubleKind = "frozen"
	// TroubleBlocked: the device is full. It ends by itself when there is room.
	TroubleBlocked TroubleKind = "blocked"
)

// Values lists the kinds there are.
func (TroubleKind) Values() []string {
	return []string{string(TroubleUnreadable), string(TroubleDamaged), string(TroubleFrozen), string(TroubleBlocked)}
}

// Trouble is what is wrong with a session, in words for a person.
type Trouble struct {
	SessionID string
	Kind      TroubleKind
	// What says what is wrong; Do says what helps. Neither names a path.
	What, Do string
}

// OpenError says why a session cannot be opened. It is an ErrUnavailable. The
// next one who asks for the session tries again.
type OpenError struct {
	Trouble
	// Err is the cause, which may name files: it is for the hub's log.
	Err error
}

// Error is for a person who may read the session.
func (e *OpenError) Error() string { return e.What + "; " + e.Do }

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// Is makes it an ErrUnavailable.
func (e *OpenError) Is(target error) bool { return target == ErrUnavailable }

// openError turns what kept a session from being opened into words. What says
// nothing of the session stays as it is.
func openError(id string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrClosed):
		return fmt.Errorf("%w: the hub is ending", ErrUnavailable)
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrInvalidID):
		return fmt.Errorf("open session: %w", logError(err))
	}
	t := Trouble{SessionID: id, Kind: TroubleUnreadable}
	switch {
	case errors.Is(err, store.ErrBlocked), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		t.Kind, t.What, t.Do = TroubleBlocked, "there is no space left to open the session", makeRoomWords
	case errors.Is(err, store.ErrFrozen), errors.Is(err, syscall.EIO):
		t.Kind, t.What, t.Do = TroubleFrozen, "the device failed while the session was opened", deviceWords
	case errors.Is(err, store.ErrFormat):
		t.What, t.Do = "the session was written by a newer abide", "run that version or a later one"
	case errors.Is(err, fs.ErrPermission):
		t.What, t.Do = "the session's files may not be read by the hub", "give them to the user the hub runs as, with mode 0600"
	default:
		t.What, t.Do = "the session's files cannot be read", "run `abide check "+id+"`, which names what is wrong, or bring the files back from a backup"
	}
	return &OpenError{Trouble: t, Err: err}
}

const (
	goneWords     = "delete the session, or put its directory back and reopen it"
	makeRoomWords = "make room on the device; it goes on by itself"
	deviceWords   = "look at the device and the system's log, then reopen the session (POST /api/sessions/ID/reopen) or restart the hub: what was acknowledged is kept"
	savedWords    = "look at the device, and at what lies in place of the session's metadata.json and labels.json; it goes on by itself"
	// Of a file that was taken the hub has the last copy.
	takenWords = "reopen the session (POST /api/sessions/ID/reopen): that puts back what the hub still has of it, and keeps in the session's quarantine what stands in its place; while that fails, copy the file that the hub has open from /proc/%d/fd before the hub ends"
)

// noteOpened remembers whether a session could be opened, for Troubles and the
// list, and tells the log once.
func (m *Manager) noteOpened(id string, err error) {
	var failed *OpenError
	if err != nil && !errors.As(err, &failed) {
		return
	}
	m.mu.Lock()
	before := m.broken[id]
	if failed == nil {
		delete(m.broken, id)
	} else {
		m.broken[id] = failed
	}
	m.mu.Unlock()
	if failed != nil && (before == nil || before.Trouble != failed.Trouble) {
		m.logger.Error("session cannot be opened", "session", id, "err", failed.Err)
		m.news.touch(id)
	} else if failed == nil && before != nil {
		m.logger.Info("session can be opened again", "session", id)
		m.news.touch(id)
	}
}

// openFailure is why a session could not be opened when it was last tried, or nil.
func (m *Manager) openFailure(id string) *OpenError {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken[id]
}

// listed is a session's line of the list. One that cannot be opened shows so.
func (m *Manager) listed(meta store.Metadata) Info {
	info := infoOf(meta)
	if m.openFailure(meta.SessionID) != nil {
		info.Status = StatusDamaged
	}
	return info
}

// Troubles lists what is wrong with sessions, those with the newest events
// first. No session is opened for it: one that nobody asked for since the hub
// started is judged by what was known of it when it was last open.
func (m *Manager) Troubles() []Trouble {
	open := map[string]*BackgroundSession{}
	for _, b := range m.opened() {
		open[b.id] = b
	}
	var all []Trouble
	for _, meta := range m.store.List() {
		if failed := m.openFailure(meta.SessionID); failed != nil {
			all = append(all, failed.Trouble)
			continue
		}
		var health store.Health
		if b := open[meta.SessionID]; b != nil {
			health = b.log.Health()
		} else if meta.Damage != nil {
			health.Damage = *meta.Damage
		}
		if health.State == store.HealthFrozen && m.isGone(meta.SessionID) {
			all = append(all, Trouble{meta.SessionID, TroubleUnreadable, "the session's directory is gone", goneWords})
			continue
		}
		all = append(all, troublesOf(meta.SessionID, health)...)
		if b := open[meta.SessionID]; b != nil {
			if why := b.unsaved.Load(); why != nil {
				all = append(all, queueTrouble(meta.SessionID, *why))
			}
		}
	}
	return all
}

// isGone reports whether somebody took a session's directory away.
func (m *Manager) isGone(id string) bool {
	dir, err := m.store.SessionDir(id)
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// troublesOf puts a log's health into words.
func troublesOf(id string, h store.Health) []Trouble {
	var all []Trouble
	add := func(kind TroubleKind, what, do string) { all = append(all, Trouble{id, kind, what, do}) }
	switch h.State {
	case store.HealthBlocked:
		what := "there is no space left to write the log"
		if h.Unsaved != "" {
			what += ": its metadata cannot be written: " + h.Unsaved
		}
		add(TroubleBlocked, what, makeRoomWords)
	case store.HealthFrozen:
		what, do := "the log takes nothing more after an error of the device", deviceWords
		if h.Taken != "" {
			what, do = "the log takes nothing more: "+h.Taken, fmt.Sprintf(takenWords, os.Getpid())
		} else if h.Unsaved != "" {
			what += ": its metadata cannot be written: " + h.Unsaved
		}
		add(TroubleFrozen, what, do)
	default:
		switch h.Unsaved {
		case "":
		case syscall.ENOSPC.Error(), syscall.EDQUOT.Error():
			add(TroubleBlocked, "there is no space left to write the session's metadata", makeRoomWords)
		default:
			add(TroubleDamaged, "the session's metadata cannot be written: "+h.Unsaved, savedWords)
		}
	}
	check := "`abide check " + id + "` names the places"
	if h.Conflicts > 0 {
		add(TroubleDamaged, fmt.Sprintf("%d events are in the log twice with different content; the first of each is shown", h.Conflicts),
			check+"; the others are kept in the session's quarantine")
	}
	if h.Foreign != "" {
		add(TroubleDamaged, "part of the log was replaced: "+h.Foreign+", so nothing of it is shown", check+", and this session's own file if another has it")
	}
	if h.Holes > 0 || h.Missing > 0 {
		add(TroubleDamaged, "events are missing from the log; placeholders stand for them", check+"; bring the log back from a backup if you have one")
	}
	if h.Unverified > 0 {
		add(TroubleDamaged, fmt.Sprintf("the checksums of %d events are absent or wrong; they are shown as they are", h.Unverified), check)
	}
	return all
}
