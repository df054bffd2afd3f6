package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/running"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

// call is one admitted request.
type call struct {
	server *API
	w      http.ResponseWriter
	r      *http.Request
	grant  auth.Grant
	// fromHome says that the home of this hub asks.
	fromHome bool
	over     func()           // the request no longer counts as running; may be called again
	held     *running.Request // nil below the gate Credential
	with     running.Admitted // of held
	about    audit.Record     // for audited
}

// id returns the session id in the path.
func (c *call) id() string { return mux.Vars(c.r)["id"] }

// session returns the session in the path.
func (c *call) session() (*session.BackgroundSession, error) {
	return c.found(c.server.manager.Session)
}

// readable returns the session in the path for reading its events. Its state may not
// be known yet.
func (c *call) readable() (*session.BackgroundSession, error) {
	return c.found(c.server.manager.Readable)
}

func (c *call) found(open func(context.Context, string) (*session.BackgroundSession, error)) (*session.BackgroundSession, error) {
	id := c.id()
	s, err := open(c.r.Context(), id)
	if errors.Is(err, state.ErrNotFound) {
		return nil, NotFound("session " + id)
	}
	return s, err
}

// part returns the session in the path, and the id of a part of it.
func (c *call) part(name string) (*session.BackgroundSession, string, error) {
	id, err := c.param(name)
	if err != nil {
		return nil, "", err
	}
	own, err := c.session()
	return own, id, err
}

func (c *call) logger() *slog.Logger {
	return c.server.logger.With("method", c.r.Method, "path", c.r.URL.Path)
}

// Regrant ends the running requests whose grant has ended.
func (s *API) Regrant() { s.running.Regrant() }
