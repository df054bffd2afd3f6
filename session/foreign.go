package session

import "context"

// A session may be recorded by another process: a run without this hub. Then its
// log is only followed here, so that people see it live; when the other process
// has ended, the session is this hub's like any other.

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
	e.fold = f
	e.fold.changed = false
	e.dirty = true
	if free {
		e.foreign = false
		e.list.changed = true
	}
	e.hub.touched(e.b.id)
}
