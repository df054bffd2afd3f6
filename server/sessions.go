package server

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

const (
	defaultSessions = 30
	maxSessions     = 200
)

func listRoute(s *Server, c *call) error {
	q := c.r.URL.Query()
	limit, err := numberOf(q, "limit")
	if err != nil {
		return err
	}
	options := list.Options{
		Status: q.Get("status"), Project: q.Get("project"), Query: q.Get("q"),
		Limit: defaultSessions, Cursor: q.Get("cursor"),
	}
	if limit != nil {
		if *limit < 1 || *limit > maxSessions {
			return invalid("limit is not between 1 and %d", maxSessions)
		}
		options.Limit = *limit
	}
	answer := wire.SessionPage{Sessions: []wire.SessionInfo{}}
	if only := c.grant.SessionID; only != "" {
		// A credential for one session gets a list of that session.
		info, err := s.manager.Info(c.r.Context(), only)
		if err == nil && c.grant.May(auth.Read, only) {
			answer.Sessions = append(answer.Sessions, s.infoFor(c.grant, info))
		}
		return c.reply(http.StatusOK, answer)
	}
	page, err := s.manager.List(options)
	if err != nil {
		return err
	}
	for _, info := range page.Sessions {
		answer.Sessions = append(answer.Sessions, s.infoFor(c.grant, info))
	}
	answer.NextCursor = page.NextCursor
	return c.reply(http.StatusOK, answer)
}

func createRoute(s *Server, c *call) error {
	var in wire.NewSession
	if err := c.read(&in); err != nil {
		return err
	}
	if in.Recorder {
		return s.createRecording(c, in)
	}
	if in.Prompt != "" && strings.TrimSpace(in.Prompt) == "" {
		return invalid("the prompt is empty: leave it out, or say something")
	}
	made, err := s.manager.Create(c.r.Context(), session.CreateRequest{
		Agent: in.Agent, Workspace: in.Workspace, Name: in.Name, Prompt: in.Prompt,
		Actor: c.grant.By(), Key: c.r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.ID())
	return c.reply(http.StatusCreated, s.infoFor(c.grant, made.Info()))
}

// promptID returns the id of the prompt in a request: the body's, else the
// Idempotency-Key, else a new one, with which a repeated request is another prompt.
// Two different ids are an error, because a repeated request could use either.
func (c *call) promptID(inBody string) (string, error) {
	key := c.r.Header.Get("Idempotency-Key")
	switch {
	case inBody != "" && key != "" && key != inBody:
		return "", invalid("prompt_id is %q and Idempotency-Key is %q: send one of them, or the same in both", inBody, key)
	case inBody != "":
		return inBody, nil
	case key != "":
		return key, nil
	}
	id := make([]byte, 16)
	rand.Read(id)
	return hex.EncodeToString(id), nil
}

func sessionRoute(s *Server, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, s.infoFor(c.grant, own.Info()))
}

// reopenRoute responds with the session once it accepts events again.
func reopenRoute(s *Server, c *call) error {
	id := mux.Vars(c.r)["id"]
	if err := s.manager.Reopen(c.r.Context(), id); err != nil {
		if errors.Is(err, state.ErrNotFound) {
			return notFound("session " + id)
		}
		return err
	}
	return sessionRoute(s, c)
}

func endRoute(s *Server, c *call) error {
	var in wire.EndSession
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.End(c.r.Context(), in.Reason, c.grant.By()); err != nil {
		return err
	}
	return sessionRoute(s, c)
}

func updateRoute(s *Server, c *call) error {
	var in wire.SessionPatch
	if err := c.read(&in); err != nil {
		return err
	}
	id := mux.Vars(c.r)["id"]
	if err := s.manager.Update(c.r.Context(), id, session.Patch{Name: in.Name, Pinned: in.Pinned, Archived: in.Archived}); err != nil {
		return err
	}
	return sessionRoute(s, c)
}

func deleteRoute(s *Server, c *call) error {
	if err := s.manager.Delete(c.r.Context(), c.id()); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.SessionDeleted, SessionID: c.id()})
	return c.done()
}

func agentsRoute(s *Server, c *call) error {
	settings := s.manager.Settings()
	answer := wire.Agents{
		Agents: []wire.AgentChoice{}, Workspaces: append([]string{}, settings.Workspaces...), DefaultWorkspace: settings.DefaultWorkspace,
	}
	if len(answer.Workspaces) == 0 && settings.DefaultWorkspace != "" {
		answer.Workspaces = append(answer.Workspaces, settings.DefaultWorkspace)
	}
	for _, a := range settings.Agents {
		answer.Agents = append(answer.Agents, wire.AgentChoice{Name: a.Name, Description: a.Description})
	}
	return c.reply(http.StatusOK, answer)
}
