package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// restBeforeEviction is how long an open session must be unused before it may be
// closed to make room for another.
const restBeforeEviction = time.Minute

// opening is a session that is open, being opened or being closed. The manager's mu
// guards its fields, except for b and err, which are set before done is closed.
type opening struct {
	done chan struct{} // closed when b or err is set
	b    *BackgroundSession
	err  error

	used time.Time
	// retiring is set while the session is being closed. It is closed when that has
	// ended, successfully or not.
	retiring chan struct{}
}

// Session returns a session and opens it if necessary. Before it returns,
// everything that a crash left open is closed.
func (m *Manager) Session(ctx context.Context, id string) (*BackgroundSession, error) {
	if !store.ValidID(id) {
		return nil, fmt.Errorf("%w: %q is not a session id", state.ErrNotFound, id)
	}
	for {
		o, retiring, err := m.enter(id)
		if err != nil {
			return nil, err
		}
		wait := o.done
		if retiring != nil {
			wait = retiring
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if retiring == nil {
			return o.b, o.err
		}
	}
}

// enter finds or starts the opening of a session.
func (m *Manager) enter(id string) (o *opening, retiring chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	}
	o = m.open[id]
	if o == nil {
		o = &opening{done: make(chan struct{})}
		m.open[id] = o
		m.helpers.Add(1)
		go func() {
			defer m.helpers.Done()
			m.openSession(id, o)
		}()
	}
	o.used = time.Now()
	return o, o.retiring, nil
}

// openSession opens a session under the manager's context, because its caller may
// go away and others may wait for it.
func (m *Manager) openSession(id string, o *opening) {
	o.b, o.err = m.load(id)
	m.noteOpened(id, o.err)
	if o.err != nil {
		m.mu.Lock()
		delete(m.open, id) // the next call tries again
		m.mu.Unlock()
	}
	close(o.done)
	if o.err == nil {
		m.changes.Touch(id) // a reader of open sessions may have looked too early
	}
}

// load recovers a session and starts its engine.
func (m *Manager) load(id string) (*BackgroundSession, error) {
	log, err := m.store.Log(m.ctx, id)
	if err != nil {
		return nil, openError(id, err)
	}
	if log.Health().State == store.HealthFrozen {
		if err := log.Reopen(m.ctx); err != nil { // the log stays readable
			m.logger.Error("log stays frozen", "session", id, "err", err)
		}
	}
	dir, err := m.store.SessionDir(id)
	if err != nil {
		return nil, openError(id, err)
	}
	q, err := queue.Open(dir, queue.Options{Failpoint: m.failing})
	if err != nil {
		return nil, openError(id, err)
	}
	f, stored, err := recoverSession(m.ctx, log, q, m.settings.Load().agent(log.Metadata().Agent).Delegating)
	if err != nil {
		return nil, openError(id, err)
	}
	if f.cutNow != nil {
		m.hub.numbers.cutOff(*f.cutNow)
	}
	meta := log.Metadata()
	logger, watchers := m.logger.With("session", id), newWatchers()
	e := newEngine(foldedLog{
		id: id, log: log, queue: q, hub: m.hub, watchers: watchers, logger: logger,
		workspace: meta.Workspace, agentName: meta.Agent, imported: meta.Imported,
		fold: f, list: listLine{changed: true}, dirty: true,
	}, meta.Named, stored)
	e.health.blocked = log.Health().State == store.HealthBlocked // the repair waits for space
	e.reportQueue(meta.CreatedBy != "" && !meta.Imported)
	b := &BackgroundSession{
		id: id, log: log, mail: e.mail, gone: e.gone, shown: &e.shown, watchers: watchers, logger: logger,
		comments: openCommentBook(dir, logger), counting: make(chan struct{}, 1),
	}
	e.resumes.again = b.resumeUnchanged
	e.start()
	return b, nil
}

// opened lists the open sessions.
func (m *Manager) opened() []*BackgroundSession {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*BackgroundSession
	for _, o := range m.open {
		if o.ready() {
			list = append(list, o.b)
		}
	}
	return list
}

// Opened returns a session if it is open, else nil.
func (m *Manager) Opened(id string) *BackgroundSession {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.open[id]; o != nil && o.ready() {
		return o.b
	}
	return nil
}

// ready reports whether the session is open.
func (o *opening) ready() bool {
	select {
	case <-o.done:
		return o.err == nil
	default:
		return false
	}
}

// retire closes an open session with end. Meanwhile other callers wait for it. end
// reports whether the session is closed.
func (m *Manager) retire(ctx context.Context, id string, end func(*BackgroundSession) (bool, error)) error {
	m.mu.Lock()
	o := m.open[id]
	if o == nil || !o.ready() || o.retiring != nil {
		m.mu.Unlock()
		return fmt.Errorf("%w: session %s is being opened or closed", state.ErrBusy, id)
	}
	retiring := make(chan struct{})
	o.retiring = retiring
	m.mu.Unlock()

	closed, err := end(o.b)
	if closed {
		<-o.b.mail.done
	}
	m.mu.Lock()
	o.retiring = nil
	if closed {
		delete(m.open, id)
	}
	m.mu.Unlock()
	close(retiring)
	return err
}

// Reopen reopens a session whose log is frozen after a device error: it stops the
// agent, copies the unsynced events to a new file, and closes the open turn and
// calls. A prompt that was refused when the device failed may then be in the log;
// the agent does not get it. If the device fails again, the session stays frozen
// and the error is a *ProblemError. A session that could not be opened before is
// opened if possible. A session without a problem is not changed.
func (m *Manager) Reopen(ctx context.Context, id string) error {
	b, err := m.Session(ctx, id)
	if err != nil {
		return err
	}
	frozen, err := ask(ctx, b.mail, func(e *engine) (bool, error) {
		return e.health.frozen != nil || e.log.Health().State == store.HealthFrozen, nil
	})
	if err != nil || !frozen {
		return err
	}
	err = m.retire(ctx, id, func(b *BackgroundSession) (bool, error) { return true, b.close(ctx) })
	if err != nil {
		return fmt.Errorf("reopen session: %w", err)
	}
	b, err = m.Session(ctx, id) // opening a session reopens its log
	if err == nil && b.log.Health().State == store.HealthFrozen {
		err = b.stuck(store.ErrFrozen)
	}
	return err
}

// makeRoom keeps the number of open sessions below limit by closing those that are
// unused longest.
func (m *Manager) makeRoom(ctx context.Context, limit int) error {
	for {
		id, over := m.longestUnused(limit)
		if !over {
			return nil
		}
		if id == "" {
			return fmt.Errorf("%w: %d sessions are open and in use, and no more are allowed", state.ErrBusy, limit)
		}
		err := m.retire(ctx, id, func(b *BackgroundSession) (bool, error) {
			return ask(ctx, b.mail, func(e *engine) (bool, error) {
				e.closing = e.closing || e.restful()
				return e.closing, nil
			})
		})
		if err != nil {
			return err
		}
	}
}

// longestUnused returns the session to close next. over reports whether there are
// too many. It marks the session as used, so that another one is tried next if this
// one cannot be closed.
func (m *Manager) longestUnused(limit int) (id string, over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) < limit {
		return "", false
	}
	var oldest *opening
	for candidate, o := range m.open {
		if !o.ready() || o.retiring != nil || time.Since(o.used) < restBeforeEviction {
			continue
		}
		if oldest == nil || o.used.Before(oldest.used) {
			id, oldest = candidate, o
		}
	}
	if oldest != nil {
		oldest.used = time.Now()
	}
	return id, true
}
