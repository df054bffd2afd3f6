package session

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/store"
)

// A session may be recorded by another process: a run without this hub. Then its
// log is only followed here, so that people see it live; when the other process
// has ended, the session is this hub's like any other.

// followOthers opens what other processes record, so that the list tells of it as
// of any session. It runs until the manager is closed.
func (m *Manager) followOthers() {
	for {
		changed := m.store.Changed()
		for meta := range m.store.Newest(store.Place{}) {
			// Only who has it open tells how it is, which no hub has done yet.
			if meta.Writer == nil || meta.Status != "" || m.openFailure(meta.SessionID) != nil {
				continue
			}
			_, _ = m.Session(m.ctx, meta.SessionID) // a failure is in Troubles
		}
		select {
		case <-changed:
		case <-m.ctx.Done():
			return
		}
	}
}

// foreignNews are the bells that ring when another process has written, or has
// let go. They are nil while the session is this hub's own.
func (e *engine) foreignNews() (changed, health <-chan struct{}) {
	if !e.foreign {
		return nil, nil
	}
	changed, health = e.log.Changed(), e.log.HealthChanged()
	if !e.log.ReadOnly() || e.log.Marks().Visible > e.fold.seq {
		now := make(chan struct{})
		close(now)
		return now, nil
	}
	return changed, health
}

// notOurs is the error for whoever wants to change what another process records,
// or what could not be taken over from it yet. It is nil for this hub's own.
func (e *engine) notOurs() error {
	if !e.foreign {
		return nil
	}
	if t, stuck := stuckTrouble(e.b.id, e.log.Health()); stuck {
		return &TroubleError{Trouble: t}
	}
	return errRecorded
}

// errRecorded is a verb on a session that another process records.
var errRecorded = fmt.Errorf("%w: another abide records this session; until it ends, the session can only be watched here", ErrConflict)

// followForeign takes what is new in a foreign log, and takes the session over
// once nobody else writes it.
func (e *engine) followForeign() {
	free := !e.log.ReadOnly()
	f, err := catchUp(context.Background(), e.log, e.queue, e.fold)
	if err != nil {
		e.logger.Error("session of another process cannot be followed", "err", err)
		e.health.frozen, e.foreign, e.dirty = err, false, true
		return
	}
	e.list.changed = e.list.changed || f.changed
	e.fold = f
	e.fold.changed = false
	e.dirty = true
	e.list.progressed = true
	if free {
		// Whatever kept it from being written was the other's.
		e.foreign, e.health = false, logHealth{}
		e.named = e.log.Metadata().Named
		e.list.changed = true
	}
}
