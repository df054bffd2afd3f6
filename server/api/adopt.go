package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// adoptRows are the routes of this file.
func adoptRows() section {
	return section{
		title: "Sessions that an agent has",
		about: []string{
			"Both start the agent for the request and stop it. 409 says in the agent's words why it does not list or load; 403 that its folder is not allowed, 503 that the limit of running agents is reached. A page has at most 500 entries; `left_out` counts the other entries of the agent's page.",
			"An adopted session has `adopted{agent_session_id}`. Its log begins with the past as the agent told it, up to the note `abide/adopted`; usage of that time is left out.",
		},
		rows: []route{
			{
				"GET", "/api/agents/{name}/sessions", auth.Credential, auth.Manage, false, audited(audit.AgentListed, pastRoute),
				doc{
					summary: "A page of the sessions that an agent stores, by folder and time. session_id is the session that continues one already; refused says why one cannot be continued in its folder.",
					query: []param{
						{"folder", "only the sessions of this folder; it must be allowed", ""},
						{"cursor", "next_cursor of the page before", ""},
					},
					out: wire.PastSessions{}, status: 200,
				},
			},
			{
				"POST", "/api/agents/{name}/adopt", auth.Credential, auth.Manage, false, audited(audit.AgentAdopted, with(adoptRoute)),
				doc{
					summary: "Continue a session that an agent stores. The same again is answered 200 with the session that exists. Without a workspace it is the folder that the agent tells.",
					in:      wire.Adopt{}, out: wire.SessionInfo{}, status: 201,
				},
			},
		},
	}
}

func pastRoute(s *API, c *call) error {
	q := c.r.URL.Query()
	page, err := s.manager.PastSessions(c.r.Context(), agentName(c), q.Get("folder"), q.Get("cursor"))
	if err != nil {
		return err
	}
	answer := wire.PastSessions{Sessions: make([]wire.PastSession, 0, len(page.Sessions)), NextCursor: page.Next, LeftOut: page.LeftOut}
	for _, p := range page.Sessions {
		of := wire.PastSession{AgentSessionID: p.AgentSessionID, Folder: p.Folder, Title: p.Title, SessionID: p.SessionID, Refused: p.Refused}
		if !p.UpdatedAt.IsZero() {
			at := p.UpdatedAt.UTC()
			of.UpdatedAt = &at
		}
		answer.Sessions = append(answer.Sessions, of)
	}
	return c.reply(http.StatusOK, answer)
}

func adoptRoute(s *API, c *call, in wire.Adopt) error {
	c.about.Detail = " " + in.AgentSessionID
	b, made, err := s.manager.Adopt(c.r.Context(), session.AdoptRequest{
		Agent: agentName(c), AgentSessionID: in.AgentSessionID, Workspace: in.Workspace, Actor: c.grant.By(),
	})
	if err != nil {
		return err
	}
	c.about.SessionID = b.ID()
	status := http.StatusOK
	if made {
		status = http.StatusCreated
		c.w.Header().Set("Location", "/api/sessions/"+b.ID())
	}
	return c.reply(status, s.InfoFor(c.grant, b.Info()))
}
