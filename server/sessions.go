package server

import (
	"context"

	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/list"
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
	// that are gone, and the version now. Changed is its bell.
	ChangesSince(version uint64) (changed []list.Info, gone []string, now uint64)
	Changed() <-chan struct{}
}

// managed are the sessions of a manager.
type managed struct{ *session.Manager }

var _ sessions = managed{}

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
