package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// Delete stops a session's agent and deletes all files of the session. A running
// idle agent is asked to delete its own copy.
func (m *Manager) Delete(ctx context.Context, id string) error {
	return m.deleteIf(ctx, id, always)
}

// always lets a session be taken out.
func always() error { return nil }

// deleteIf is Delete if may returns nil once the session is closed.
func (m *Manager) deleteIf(ctx context.Context, id string, may func() error) error {
	err := m.takeOut(ctx, id, func(b *BackgroundSession) error {
		b.forget(ctx)
		return nil
	}, may, m.journal.Delete)
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	m.reads.Forget(id)
	m.forgetStates(ctx, id)
	return nil
}

// Trash stops a session's agent and puts the session into the trash, from which Restore
// brings it back, or emptyTrash deletes it after Settings.TrashFor. Its turn and its
// queue are paused first, so that nothing continues by itself after a restore.
func (m *Manager) Trash(ctx context.Context, id string, by event.Actor) error {
	pause := func(b *BackgroundSession) error {
		if status := b.Info().Status; status == state.StatusRunning || status == state.StatusNeedsYou || len(b.Queue()) > 0 {
			if _, err := b.Pause(ctx, by); err != nil {
				m.logger.Debug("a session was not paused before it was deleted", "session", id, "err", err)
			}
		}
		return nil
	}
	if err := m.takeOut(ctx, id, pause, always, m.journal.Trash); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// takeOut closes a session, removes it by a function of the journal, and takes it out of
// the list. before is called first, unless the session cannot be opened, and may once it is
// closed, when nothing can be added to it; an error of either leaves it.
func (m *Manager) takeOut(ctx context.Context, id string, before func(*BackgroundSession) error, may func() error, remove func(context.Context, string) error) error {
	_, err := m.Session(ctx, id)
	var failed *problem.Error
	switch {
	case errors.As(err, &failed):
		if err := may(); err != nil {
			return err
		}
		if err := remove(ctx, id); err != nil {
			return problem.OfLog(err)
		}
		m.mu.Lock()
		delete(m.broken, id)
		m.mu.Unlock()
	case err != nil:
		return err
	default:
		err := m.retire(ctx, id, func(b *BackgroundSession) (bool, error) {
			if err := before(b); err != nil {
				return false, err
			}
			if err := b.close(ctx); err != nil {
				return true, err // its engine ended anyway
			}
			if err := may(); err != nil {
				return true, err
			}
			return true, remove(ctx, id)
		})
		if err != nil {
			return problem.OfLog(err)
		}
	}
	if original := m.hub.lines.Forks.Remove(id); original != "" {
		m.changes.Touch(original)
	}
	m.changes.Remove(id)
	return nil
}

// forgetStates removes what undo kept of a deleted session. After an error the next start of
// the hub removes the rest.
func (m *Manager) forgetStates(ctx context.Context, id string) {
	if err := m.hub.states.Forget(ctx, id); err != nil {
		m.logger.Warn("the states of a deleted session could not be removed", "session", id, "err", err)
	}
}

// mayExist reports whether a session is there or in the trash, or may be: its directory
// may be away.
func (m *Manager) mayExist(id string) bool {
	_, listed := m.journal.Listed(id)
	return listed || !errors.Is(m.journal.Present(id), journal.ErrNotFound) || m.inTrash(id)
}

// inTrash reports whether a session is in the trash, or may be.
func (m *Manager) inTrash(id string) bool {
	all, err := m.journal.Trashed()
	for _, one := range all {
		if one.SessionID == id {
			return true
		}
	}
	return err != nil
}

// Deleted is a session in the trash.
type Deleted struct {
	list.Info
	// At is when it was deleted, and Until when it is removed; zero if that is not soon.
	At, Until time.Time
	// Bytes are what its files take.
	Bytes int64
}

// Trashed lists the sessions in the trash, the last deleted first.
func (m *Manager) Trashed() ([]Deleted, error) {
	all, err := m.journal.Trashed()
	if err != nil {
		return nil, fmt.Errorf("list the trash: %w", err)
	}
	deleted := make([]Deleted, 0, len(all))
	for _, one := range all {
		deleted = append(deleted, Deleted{
			Info: m.listed(one.Metadata), At: one.At, Until: one.At.Add(m.settings.Load().TrashFor), Bytes: one.Bytes,
		})
	}
	return deleted, nil
}

// Restore brings a session back from the trash. Its log notes that. state.ErrNotFound if it is not
// there, state.ErrConflict if a session has its id.
func (m *Manager) Restore(ctx context.Context, id string, by event.Actor) error {
	_, before := m.restored.LoadOrStore(id, true)
	err := m.journal.Restore(ctx, id)
	if err != nil && !before {
		m.restored.Delete(id) // another call may have restored it, whose note says so
	}
	switch {
	case errors.Is(err, journal.ErrExists):
		return fmt.Errorf("%w: session %s is there", state.ErrConflict, id)
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrInvalidID):
		return fmt.Errorf("%w: session %s is not in the trash", state.ErrNotFound, id)
	case err != nil:
		return fmt.Errorf("restore session: %w", problem.OfLog(err))
	}
	if meta, listed := m.journal.Listed(id); listed && meta.ForkedFrom != nil {
		m.hub.lines.Forks.Add(id, meta.ForkedFrom)
		m.changes.Touch(meta.ForkedFrom.SessionID)
	}
	m.noteRestored(ctx, id, by) // before it is told: its line comes once, where it stays
	m.changes.Add(id)
	return nil
}

// noteRestored says in the log of a session that it came back, so that its age begins
// again, for a job's retention and for a clean-up, also after a restart of the hub. The log
// of an import is not written to: it stays in restored.
func (m *Manager) noteRestored(ctx context.Context, id string, by event.Actor) {
	if meta, _ := m.journal.Listed(id); meta.Imported {
		return
	}
	b, err := m.Session(ctx, id)
	if err == nil {
		err = tell(ctx, b.mail, func(e *engine) error {
			note := event.Note{Method: noteBack, Text: event.Text("Restored from the trash by " + by.Name), By: by.Name, ByID: by.ID}
			_, err := e.write(e.entries(note)...)
			return err
		})
	}
	if err != nil {
		m.logger.Warn("a session does not say that it was restored", "session", id, "err", err)
		return
	}
	m.restored.Delete(id)
}

// noteBack is the method of the note that a session came back from the trash.
const noteBack = "abide/back_from_trash"

// Purge deletes a session that is in the trash for good. state.ErrNotFound if it is not there.
func (m *Manager) Purge(ctx context.Context, id string) error {
	n, err := m.purge(ctx, func(one journal.Trashed) bool { return one.SessionID == id })
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: session %s is not in the trash", state.ErrNotFound, id)
	}
	return err
}

// purge deletes what is chosen of the trash for good and returns how many it was.
func (m *Manager) purge(ctx context.Context, chosen func(journal.Trashed) bool) (n int, err error) {
	all, err := m.journal.Trashed()
	if err != nil {
		return 0, fmt.Errorf("list the trash: %w", err)
	}
	for _, one := range all {
		if !chosen(one) {
			continue
		}
		if err := m.journal.Purge(ctx, one); err != nil {
			return n, err
		}
		n++
		if !m.mayExist(one.SessionID) {
			m.reads.Forget(one.SessionID)
			m.forgetStates(ctx, one.SessionID)
		}
	}
	return n, nil
}

// emptyTrash deletes what was in the trash for long enough.
func (m *Manager) emptyTrash() {
	before := m.hub.uploads.now().Add(-m.settings.Load().TrashFor)
	if _, err := m.purge(m.ctx, func(one journal.Trashed) bool { return !one.At.After(before) }); err != nil {
		m.logger.Warn("old sessions stay in the trash", "err", err)
	}
}

// tellExpired tells the list which sessions expired.
func (m *Manager) tellExpired() {
	for _, id := range m.hub.lines.Expiry.Look(m.ctx, m.journal.Owned()) {
		m.changes.Touch(id)
	}
}

// periodically does something after each interval, until the manager is closed.
func (m *Manager) periodically(every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-m.ctx.Done():
			return
		}
	}
}
