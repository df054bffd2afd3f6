package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// setupRows are the routes of this file.
func setupRows() section {
	return section{
		title: "Setting agents up",
		rows: []route{
			{
				"GET", "/api/agents/setup", auth.Credential, auth.Manage, false, agentSetupRoute,
				doc{summary: "The configured agents, and those that abide knows: where each is installed, else how to install it.", out: wire.AgentSetup{}, status: 200},
			},
		},
	}
}

func agentSetupRoute(s *API, c *call) error {
	if s.agents == nil {
		return Forbidden()
	}
	answer, err := s.agents.List()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, answer)
}
