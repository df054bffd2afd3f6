package server

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// sessions are the sessions that clients watch and list. A change that a client asks for goes
// to the manager that owns it.
type sessions interface {
	// Watch returns a session whose events can be read, and opens it if needed. Its state may
	// not be known yet. state.ErrNotFound means that there is none.
	Watch(ctx context.Context, id string) (api.Watched, error)
	// Closed returns why a watched session was closed: state.ErrNotFound if it is gone, nil
	// or another error if it can be watched again.
	Closed(ctx context.Context, id string) error
	// Info returns a session's line of the list.
	Info(ctx context.Context, id string) (list.Info, error)
	// ChangesSince returns the lines that changed after a version, the ids of the sessions
	// that are gone, and the version now. Changed are its bells.
	ChangesSince(version listVersion) (changed []list.Info, gone []string, now listVersion)
	Changed() [2]<-chan struct{}
}

// listVersion is a version of the list: of this hub's sessions, and of those of machines.
type listVersion struct{ own, others uint64 }

// lastVersion is after every version.
var lastVersion = listVersion{math.MaxUint64, math.MaxUint64}

// managed are the sessions of a manager.
type managed struct{ *session.Manager }

func (m managed) Watch(ctx context.Context, id string) (api.Watched, error) {
	b, err := m.Readable(ctx, id)
	if err != nil {
		return nil, err // no typed nil
	}
	return b, nil
}

func (m managed) Closed(ctx context.Context, id string) error {
	_, err := m.Session(ctx, id)
	return err
}

// merged are the sessions of this hub and of the machines that joined it. Of two with one id
// this hub's counts.
type merged struct {
	managed
	machines *machines.Home

	mu     sync.Mutex
	copies map[string]*copied // those that are followed, by session
}

var _ sessions = (*merged)(nil)

// Watch returns this hub's session, or the copy of a machine's.
func (m *merged) Watch(ctx context.Context, id string) (api.Watched, error) {
	s, err := m.managed.Watch(ctx, id)
	if !errors.Is(err, state.ErrNotFound) {
		return s, err
	}
	from, failed := m.machines.Watch(id)
	if failed != nil {
		return nil, failed
	}
	if err := from.Begun(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, c := range m.copies {
		if c.over() {
			delete(m.copies, id)
		}
	}
	if c := m.copies[id]; c != nil && c.Copied == from {
		return c, nil
	}
	c := newCopied(from)
	m.copies[id] = c
	return c, nil
}

// presences are the screens of this hub that show a machine's session.
func (m *merged) presences(id string) []state.Observer {
	m.mu.Lock()
	c := m.copies[id]
	m.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.presences()
}

// Closed returns why a watched session was closed.
func (m *merged) Closed(ctx context.Context, id string) error {
	if _, _, known := m.machines.Of(id); known {
		return nil
	}
	return m.managed.Closed(ctx, id)
}

func (m *merged) Info(ctx context.Context, id string) (list.Info, error) {
	info, err := m.managed.Info(ctx, id)
	if errors.Is(err, state.ErrNotFound) {
		if _, line, known := m.machines.Of(id); known {
			return line, nil
		}
	}
	return info, err
}

func (m *merged) ChangesSince(v listVersion) (changed []list.Info, gone []string, now listVersion) {
	changed, gone, now.own = m.Manager.ChangesSince(v.own)
	lines, left, others := m.machines.LinesSince(v.others)
	now.others = others
	return append(changed, lines...), append(gone, left...), now
}

func (m *merged) Changed() [2]<-chan struct{} {
	return [2]<-chan struct{}{m.Manager.Changed(), m.machines.LinesChanged()}
}
