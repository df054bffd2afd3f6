package api

import (
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// overviewRows are the routes of this file.
func overviewRows() section {
	return section{
		title: "The overview of a session",
		about: []string{
			"See [the overview](#the-overview).",
		},
		rows: []route{
			{
				"GET", one + "/overview", auth.Credential, auth.Read, false, inSession(overviewRoute),
				doc{summary: "The session at a glance: how its events lie in time, what is worth going to, and a summary of each turn with the files it changed.", out: wire.Overview{}, status: 200},
			},
		},
	}
}

func overviewRoute(s *API, c *call, own *session.BackgroundSession) error {
	// What the agent did not tell is of the workspace, of which a viewer is told nothing.
	return c.answer(s.manager.Overview(c.r.Context(), own.ID(), c.grant.May(auth.Act, own.ID())))
}
