package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// agentRows are the routes of this file.
func agentRows() section {
	return section{
		title: "The agent",
		about: []string{
			"`authenticate` answers 400 with the agent's words if the login fails.",
		},
		rows: []route{
			{
				"POST", one + "/restart", auth.Credential, auth.Act, false, inSession(restartRoute),
				doc{summary: "Stop the agent and start it again; a turn it was given is closed as interrupted. The state says what became of it.", status: 202},
			},
			{
				"POST", one + "/authenticate", auth.Credential, auth.Manage, false, inSessionWith(authenticateRoute),
				doc{summary: "Log the agent in by one of the methods its state names. Answers when the agent is ready.", in: wire.Login{}, out: struct{}{}, status: 200},
			},
			{
				"POST", one + "/mode", auth.Credential, auth.Manage, false, inSessionWith(modeRoute),
				doc{summary: "Change the agent's mode. Answers when the agent took it; the new mode comes as an event.", in: wire.ChosenMode{}, status: 204},
			},
			{
				"POST", one + "/option", auth.Credential, auth.Manage, false, inSessionWith(optionRoute),
				doc{summary: "Change one of the agent's options, the model among them. Answers when the agent took it; the new values come as an event.", in: wire.ChosenOption{}, status: 204},
			},
		},
	}
}

func restartRoute(s *API, c *call, own *session.BackgroundSession) error {
	if err := own.Restart(c.r.Context(), c.grant.By()); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}

func authenticateRoute(s *API, c *call, own *session.BackgroundSession, in wire.Login) error {
	if err := own.Authenticate(c.r.Context(), in.MethodID, c.grant.By()); err != nil {
		return err
	}
	return c.reply(http.StatusOK, struct{}{})
}

func modeRoute(s *API, c *call, own *session.BackgroundSession, in wire.ChosenMode) error {
	return c.done(own.SetMode(c.r.Context(), in.ModeID, c.grant.By()))
}

func optionRoute(s *API, c *call, own *session.BackgroundSession, in wire.ChosenOption) error {
	return c.done(own.SetConfigOption(c.r.Context(), in.ConfigID, in.Value, c.grant.By()))
}
