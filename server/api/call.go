package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

// call is one admitted request.
type call struct {
	server *API
	w      http.ResponseWriter
	r      *http.Request
	grant  auth.Grant
	over   func() // the request no longer counts as running; may be called again
	held   *held  // nil below the gate Credential
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

func (c *call) logger() *slog.Logger {
	return c.server.logger.With("method", c.r.Method, "path", c.r.URL.Path)
}

// hold makes the request of a call last as long as its grant, until let go.
func (s *API) hold(c *call, may func(auth.Grant) bool) (letGo func()) {
	ctx, cancel := context.WithCancelCause(c.r.Context())
	h := &held{
		registry: s.registry, grant: c.grant, may: may, conn: ConnOf(c.r),
		control: http.NewResponseController(c.w), cancel: cancel,
	}
	c.r = c.r.WithContext(ctx)
	c.r.Body = heldBody{c.r.Body, h}
	c.w = &heldWriter{ResponseWriter: c.w, held: h, request: c.r}
	c.held = h
	s.held.add(h)
	return func() {
		h.release()
		s.held.remove(h)
		cancel(nil)
	}
}

// Regrant ends the running requests whose grant has ended.
func (s *API) Regrant() { s.held.regrant() }
