package server

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// forkRequest names the event to continue from. workspace and agent default to
// those of the session. worktree is the path of a new git worktree to work in.
type forkRequest struct {
	Seq       event.Seq `json:"seq"`
	Workspace string    `json:"workspace,omitempty"`
	Worktree  string    `json:"worktree,omitempty"`
	Agent     string    `json:"agent,omitempty"`
}

func docFork() doc {
	return doc{
		summary: "Make a new session that begins with an account of this one up to an event. It takes a credential that may make sessions.",
		headers: []param{{"Idempotency-Key", "Makes a resend harmless.", ""}},
		in:      forkRequest{}, out: wire.SessionInfo{}, status: 201,
	}
}

func forkRoute(s *Server, c *call) error {
	if !c.grant.May(auth.Manage, "") {
		return forbidden()
	}
	var in forkRequest
	if err := c.read(&in); err != nil {
		return err
	}
	made, err := s.manager.Fork(c.r.Context(), c.id(), session.ForkRequest{
		Seq: in.Seq, Workspace: in.Workspace, Worktree: in.Worktree, Agent: in.Agent, Actor: c.grant.By(), Key: c.r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.ID())
	return c.reply(http.StatusCreated, s.infoFor(c.grant, made.Info()))
}
