package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// forkRows are the routes of this file.
func forkRows() section {
	return section{
		title: "Forks",
		about: []string{
			"The new session works in the same workspace with the same agent unless others are named. It has `forked_from{session_id, seq}`, this session's line gets `forks[]`, and its log stays.",
			"`worktree` is that of a new session (see [Sessions](#sessions)), at the commit that the workspace was last seen at by then unless it names a `base`. A text in its place is its `folder`. `files` puts the files as they were before the prompt of that event's turn (`before`) or at its end (`end`), as far as they were kept (see [Undo](#undo)): 409 if not.",
		},
		rows: []route{
			{
				"POST", one + "/fork", auth.Credential, auth.Manage, false, forkRoute,
				doc{
					summary: "Make a new session that begins with an account of this one up to an event. It takes a credential that may make sessions.",
					headers: []param{{"Idempotency-Key", "Makes a resend harmless.", ""}},
					in:      wire.NewFork{}, out: wire.SessionInfo{}, status: 201,
				},
			},
		},
	}
}

func forkRoute(s *API, c *call) error {
	if !c.grant.May(auth.Manage, "") {
		return Forbidden()
	}
	var in wire.NewFork
	if err := c.read(&in); err != nil {
		return err
	}
	made, err := s.manager.Fork(c.r.Context(), c.id(), session.ForkRequest{
		Seq: in.Seq, Workspace: in.Workspace, Worktree: worktreeOf(in.Worktree), Files: session.ForkFiles(in.Files), Agent: in.Agent, Actor: c.grant.By(), Key: c.r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.ID())
	return c.reply(http.StatusCreated, s.InfoFor(c.grant, made.Info()))
}
