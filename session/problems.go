package session

import (
	"errors"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/problem"
)

// noteOpened remembers whether a session could be opened, for Problems and the
// list. It logs a failure once.
func (m *Manager) noteOpened(id string, err error) {
	var failed *problem.Error
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
	if failed != nil && (before == nil || before.Problem != failed.Problem) {
		m.logger.Error("session cannot be opened", "session", id, "err", failed.Err)
		m.changes.Touch(id)
	} else if failed == nil && before != nil {
		m.logger.Info("session can be opened again", "session", id)
		m.changes.Touch(id)
	}
}

// openFailure returns the error of the last attempt to open a session, or nil.
func (m *Manager) openFailure(id string) *problem.Error {
	m.mu.Lock()
	failed := m.broken[id]
	m.mu.Unlock()
	if failed == nil || !errors.Is(failed, journal.ErrAway) || errors.Is(m.journal.Present(id), journal.ErrAway) {
		return failed
	}
	return nil // it is back
}

// listed returns a session's line of the list, also if the session cannot be
// opened.
func (m *Manager) listed(meta journal.Metadata) list.Info {
	return m.hub.lines.Of(meta, m.openFailure(meta.SessionID) != nil)
}

// Problems lists the problems of sessions, newest activity first. It opens no
// session. A session that was not opened since the hub started is judged by its
// metadata.
func (m *Manager) Problems() []problem.Problem {
	open := map[string]*BackgroundSession{}
	for _, b := range m.opened() {
		open[b.id] = b
	}
	var all []problem.Problem
	for _, meta := range m.journal.List() {
		if failed := m.openFailure(meta.SessionID); failed != nil {
			all = append(all, failed.Problem)
			continue
		}
		var health journal.Health
		if b := open[meta.SessionID]; b != nil {
			health = b.log.Health()
		} else if meta.Damage != nil {
			health.Damage = *meta.Damage
		}
		all = append(all, problem.List(meta.SessionID, health)...)
		if b := open[meta.SessionID]; b != nil && health.Absence == "" {
			if why := b.shown.unsaved.Load(); why != nil {
				all = append(all, problem.OfQueue(meta.SessionID, *why))
			}
		}
	}
	return all
}
