package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/presence"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/recovery"
	"github.com/abidehub/abide/session/state"
)

// restBeforeEviction is how long an open session must be unused before it may be
// closed to make room for another.
const restBeforeEviction = time.Minute

// opening is a session that is open, being opened or being closed. The manager's mu
// guards its fields, except for b and err. b is set before readable is closed, unless
// the log cannot be read; err is set before done is closed.
type opening struct {
	readable chan struct{} // closed when the log can be read, or together with done
	done     chan struct{} // closed when the opening has ended
	b        *BackgroundSession
	err      error

	used time.Time
	// retiring is set while the session is being closed. It is closed when that has
	// ended, successfully or not.
	retiring chan struct{}
}

// Session returns a session and opens it if necessary. Before it returns,
// everything that a crash left open is closed.
func (m *Manager) Session(ctx context.Context, id string) (*BackgroundSession, error) {
	for {
		o, again, err := m.await(ctx, id, func(o *opening) chan struct{} { return o.done })
		switch {
		case err != nil:
			return nil, err
		case again:
			continue
		case o.err != nil:
			return nil, o.err
		}
		return o.b, nil
	}
}

// Readable is Session, but does not wait for the state of a session that has many
// events to read: it returns once the log can be read. See BackgroundSession.Known.
func (m *Manager) Readable(ctx context.Context, id string) (*BackgroundSession, error) {
	for {
		o, again, err := m.await(ctx, id, func(o *opening) chan struct{} { return o.readable })
		switch {
		case err != nil:
			return nil, err
		case again:
			continue
		case o.b == nil:
			return nil, o.err
		}
		return o.b, nil
	}
}

// EverOpened returns the number of times a session was created or opened. It counts
// failed ones too.
func (m *Manager) EverOpened() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.began
}

// await waits for a step of a session's opening. again means that it waited for the
// end of its closing instead.
func (m *Manager) await(ctx context.Context, id string, step func(*opening) chan struct{}) (o *opening, again bool, err error) {
	if !journal.ValidID(id) {
		return nil, false, fmt.Errorf("%w: %q is not a session id", state.ErrNotFound, id)
	}
	o, retiring, err := m.enter(id)
	if err != nil {
		return nil, false, err
	}
	wait := step(o)
	if retiring != nil {
		wait = retiring
	}
	select {
	case <-wait:
		return o, retiring != nil, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
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
		o = &opening{readable: make(chan struct{}), done: make(chan struct{})}
		m.open[id] = o
		m.began++
		m.helpers.Add(1)
		go func() {
			defer m.helpers.Done()
			m.openSession(id, o)
		}()
	}
	o.used = time.Now()
	return o, o.retiring, nil
}

// readFirst is how many events may be read before a session is readable. More take
// longer than a person should wait for the newest.
const readFirst = 4096

// openSession opens a session under the manager's context, because its caller may
// go away and others may wait for it.
func (m *Manager) openSession(id string, o *opening) {
	b, r, err := m.read(id)
	early := err == nil && r.Behind() > readFirst
	if early {
		o.b = b
		close(o.readable)
	}
	if err == nil {
		err = m.recover(b, r)
	}
	o.err = err
	m.noteOpened(id, err)
	if err != nil {
		m.mu.Lock()
		delete(m.open, id) // the next call tries again
		m.mu.Unlock()
		if early {
			b.fail(err)
		} else if b != nil {
			b.lease.Release()
		}
	}
	if !early {
		if err == nil {
			o.b = b
		}
		close(o.readable)
	}
	close(o.done)
	if err != nil {
		return
	}
	m.changes.Touch(id) // a reader of open sessions may have looked too early
	if err := m.settleLeft(b); err != nil {
		b.logger.Debug("a session does not say how an act on its branch ended", "err", err)
	}
}

// read opens the log and the queue of a session, so that its events can be read.
func (m *Manager) read(id string) (*BackgroundSession, *recovery.Recovery, error) {
	lease, err := m.journal.Lease(m.ctx, id)
	if err != nil {
		return nil, nil, problem.OfOpening(id, err)
	}
	b, r, err := m.readLeased(id, lease)
	if err != nil {
		lease.Release()
		return nil, nil, problem.OfOpening(id, err)
	}
	return b, r, nil
}

// readLeased is read for the holder of the lease.
func (m *Manager) readLeased(id string, lease journal.Lease) (*BackgroundSession, *recovery.Recovery, error) {
	log, err := lease.Log(m.ctx)
	if err != nil {
		return nil, nil, err
	}
	if log.Health().State == journal.HealthFrozen {
		if err := log.Reopen(m.ctx); err != nil { // the log stays readable
			m.logger.Error("log stays frozen", "session", id, "err", err)
		}
	}
	q, err := queue.Open(log.Files(), queue.Options{})
	if err != nil {
		return nil, nil, err
	}
	m.hub.lines.Forks.Add(id, forkOf(log.Metadata())) // its metadata may have been rebuilt
	logger := m.logger.With("session", id)
	b := &BackgroundSession{
		id: id, log: log, lease: lease, front: newFront(), watchers: presence.New(), lines: m.hub.lines, budgets: m.budgets, logger: logger,
		comments: comment.Open(log.Files(), func() event.Seq { return log.Marks().Visible }, logger), counting: make(chan struct{}, 1), acting: make(chan struct{}, 1),
	}
	r := recovery.New(log, q, m.settings.Load().Agent(log.Metadata().Agent).Delegating)
	r.Told = b.shown.read
	return b, r, nil
}

// recover restores the state of a session and starts its engine.
func (m *Manager) recover(b *BackgroundSession, r *recovery.Recovery) error {
	stored := r.Fold.Seq
	f, err := r.Run(m.ctx)
	if err != nil {
		return problem.OfOpening(b.id, err)
	}
	b.shown.notable.restart(f.Seq)
	meta := b.log.Metadata()
	e := newEngine(foldedLog{
		id: b.id, log: b.log, giveBack: b.lease.Release, queue: r.Queue, hub: m.hub, watchers: b.watchers, logger: b.logger, notable: &b.shown.notable,
		workspace: meta.Workspace, project: budget.FolderOf(meta), agentName: meta.Agent, imported: meta.Imported,
		fold: f, list: listLine{changed: true}, dirty: true,
	}, b.front, stored)
	e.health.blocked = b.log.Health().State == journal.HealthBlocked // the repair waits for space
	e.reportQueue(meta.CreatedBy != "" && !meta.Imported)
	e.resumes.again = b.resumeUnchanged
	m.budgets.Ended(b.id, f.Seq) // a crash may have left the metadata behind the log
	e.start()
	return nil
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
	o.retiring = make(chan struct{})
	m.mu.Unlock()
	return m.finish(id, o, end)
}

// finish is the part of retire that waits. The caller has set o.retiring.
func (m *Manager) finish(id string, o *opening, end func(*BackgroundSession) (bool, error)) error {
	closed, err := end(o.b)
	if closed {
		<-o.b.mail.done
	}
	m.mu.Lock()
	retiring := o.retiring
	o.retiring = nil
	if closed {
		delete(m.open, id)
	}
	m.mu.Unlock()
	close(retiring)
	return err
}

// lose closes a session that another hub has taken. The session's engine calls it and
// ends by itself. From then on a caller of Session waits for that and opens it anew.
func (m *Manager) lose(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.open[id]
	switch {
	case o == nil, m.closed, o.retiring != nil: // it is being closed anyway
	case !o.ready():
		m.helpers.Go(func() {
			<-o.done
			m.lose(id)
		})
	default:
		o.retiring = make(chan struct{})
		m.helpers.Go(func() {
			_ = m.finish(id, o, func(*BackgroundSession) (bool, error) { return true, nil })
		})
	}
}

// Reopen reopens a session whose log is frozen after a device error: it stops the
// agent, copies the unsynced events to a new file, and closes the open turn and
// calls. A prompt that was refused when the device failed may then be in the log;
// the agent does not get it. If the device fails again, the session stays frozen
// and the error is a *problem.Error. A session that could not be opened before is
// opened if possible. A session without a problem is not changed.
func (m *Manager) Reopen(ctx context.Context, id string) error {
	b, err := m.Session(ctx, id)
	if err != nil {
		return err
	}
	frozen, err := ask(ctx, b.mail, func(e *engine) (bool, error) {
		return e.health.frozen != nil || e.log.Health().State == journal.HealthFrozen, nil
	})
	if err != nil || !frozen {
		return err
	}
	err = m.retire(ctx, id, func(b *BackgroundSession) (bool, error) { return true, b.close(ctx) })
	if err != nil {
		return fmt.Errorf("reopen session: %w", err)
	}
	b, err = m.Session(ctx, id) // opening a session reopens its log
	if err == nil && b.log.Health().State == journal.HealthFrozen {
		err = b.stuck(journal.ErrFrozen)
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
