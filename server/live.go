package server

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/running"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// live is the server as its API sees it.
type live struct{ *Server }

var _ api.Live = live{}

func (l live) Begin(r *http.Request, g auth.Grant) (done func(), err error) {
	l.clients.know(running.ConnOf(r))
	if !l.clients.begin(g) {
		return nil, tooManyRequests()
	}
	return sync.OnceFunc(func() { l.clients.done(g) }), nil
}

func (l live) Watch(ctx context.Context, id string) (api.Watched, error) {
	s, err := l.sessions.Watch(ctx, id)
	if errors.Is(err, state.ErrNotFound) {
		return nil, api.NotFound("session " + id)
	}
	return s, err
}

func (l live) Upgrade(w http.ResponseWriter, r *http.Request, g auth.Grant, own api.Watched, from backlog.Place) error {
	return l.upgrade(w, r, g, own, from)
}

func (l live) Stream(w http.ResponseWriter, r *http.Request, g api.Given, own api.Watched, from backlog.Place, form api.Form) error {
	if c, elsewhere := own.(*copied); elsewhere { // it is followed as for a socket
		c.Add(1)
		defer c.Add(-1)
	}
	return l.stream(w, r, g, own, from, form)
}

func (l live) App(w http.ResponseWriter, r *http.Request) error { return l.app.serve(w, r) }

func (l live) Limits(g auth.Grant) wire.Limits { return l.limits(g) }

func (l live) Clients() int { return l.clients.count() }

func (l live) Ignored() int64 { return l.ignored.Load() }

func (l live) Draining() bool { return l.draining.Load() }
