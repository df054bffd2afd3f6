package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

const (
	agentPath = "/api/agents/{name}"
	// loginWait is how long a request for a login's output waits for a change.
	loginWait = 20 * time.Second
	// mostCheckPrompt bounds the prompt of a check, in bytes.
	mostCheckPrompt = 4 << 10
)

// setupRows are the routes of this file.
func setupRows() section {
	return section{
		title: "Setting agents up",
		about: []string{
			"Only agents that abide knows are added here; `abide agents add --command` adds others. One check is under way at a time (409), and takes at most three minutes. A login ends the one before and with the credential that began it, and takes at most ten. Nothing of a login is kept. Each check, login and logout is in the audit trail, refused ones too.",
		},
		rows: []route{
			{
				"GET", "/api/agents/setup", auth.Credential, auth.Manage, false, setup(agentSetupRoute),
				doc{summary: "The configured agents, and those that abide knows: where each is installed, else how to install it.", out: wire.AgentSetup{}, status: 200},
			},
			{
				"POST", "/api/agents", auth.Credential, auth.Manage, false, setup(with(agentAddRoute)),
				doc{
					summary: "Start a known agent once, and write it into the configuration if it works; a running hub applies that. 404 with the install command for one that is not installed, 409 with the lines to add for a configuration that cannot be written.",
					in:      wire.NewAgent{}, out: wire.AddedAgent{}, status: 200,
				},
			},
			{
				"POST", agentPath + "/check", auth.Credential, auth.Manage, false, audited(audit.AgentChecked, setup(with(agentCheckRoute))),
				doc{summary: "Start a configured agent once, in an empty folder. With a prompt it answers that.", in: wire.CheckAgent{}, out: wire.AgentCheck{}, status: 200},
			},
			{
				"POST", agentPath + "/login", auth.Credential, auth.Manage, false, audited(audit.AgentLogin, setup(with(agentLoginRoute))),
				doc{summary: "Log an agent in by one of its methods. A method with a command runs that in a terminal of the hub. 409 unless `command` is that command or it is the configured one with arguments: show it to a person first.", in: wire.Login{}, out: wire.AgentLogin{}, status: 200},
			},
			{
				"GET", agentPath + "/login", auth.Credential, auth.Manage, false, setup(agentLoginOutputRoute),
				doc{
					summary: "The end of the login's output. It waits up to 20 s for a change.",
					query:   []param{{"seen", "the size of the answer before", 0}},
					out:     wire.AgentLogin{}, status: 200,
				},
			},
			{
				"POST", agentPath + "/login/input", auth.Credential, auth.Manage, false, setup(with(agentLoginInputRoute)),
				doc{summary: "Give the login a line of input. 409 if it reads nothing for ten seconds.", in: wire.LoginInput{}, status: 204},
			},
			{
				"DELETE", agentPath + "/login", auth.Credential, auth.Manage, false, setup(agentLoginEndRoute),
				doc{summary: "End the login.", status: 204},
			},
			{
				"POST", agentPath + "/logout", auth.Credential, auth.Manage, false, audited(audit.AgentLogout, setup(agentLogoutRoute)),
				doc{summary: "Ask an agent to log out. 409 if it takes no such request.", status: 204},
			},
		},
	}
}

// setup makes the handler of a route that needs the part that sets agents up.
func setup(handle func(*API, *call) error) func(*API, *call) error {
	return func(s *API, c *call) error {
		if s.agents == nil {
			return Forbidden()
		}
		return handle(s, c)
	}
}

func agentName(c *call) string { return mux.Vars(c.r)["name"] }

func agentSetupRoute(s *API, c *call) error {
	return c.answer(s.agents.List())
}

func agentAddRoute(s *API, c *call, in wire.NewAgent) error {
	answer, err := s.agents.Add(c.r.Context(), in)
	if err != nil {
		return err
	}
	if answer.Lines != "" {
		c.note(audit.Record{Verb: audit.AgentAdded, Detail: strings.Join(strings.Fields(answer.Lines), " ")})
		s.logger.Info("agent added", "agent", answer.Name, "actor", c.grant.Actor())
	}
	return c.reply(http.StatusOK, answer)
}

func agentCheckRoute(s *API, c *call, in wire.CheckAgent) error {
	if len(in.Prompt) > mostCheckPrompt {
		return Invalid("the prompt of a check has at most %d bytes", mostCheckPrompt)
	}
	return c.answer(s.agents.Check(c.r.Context(), agentName(c), in.Prompt))
}

func agentLoginRoute(s *API, c *call, in wire.Login) error {
	c.about.Detail = " by " + in.MethodID
	until := func(ctx context.Context) context.Context { return s.running.Until(ctx, c.with) }
	answer, err := s.agents.LogIn(c.r.Context(), agentName(c), in, until)
	if len(answer.Command) > 0 {
		c.about.Detail += ": " + strings.Join(answer.Command, " ")
	}
	return c.answer(answer, err)
}

func agentLoginOutputRoute(s *API, c *call) error {
	seen, err := strconv.Atoi(c.r.URL.Query().Get("seen"))
	if c.r.URL.Query().Get("seen") != "" && (err != nil || seen < 0) {
		return Invalid("seen is not a size")
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), loginWait)
	defer cancel()
	return c.answer(s.agents.Login(ctx, agentName(c), seen))
}

func agentLoginInputRoute(s *API, c *call, in wire.LoginInput) error {
	return c.done(s.agents.TypeLogin(c.r.Context(), agentName(c), in.Text))
}

func agentLoginEndRoute(s *API, c *call) error { return c.done(s.agents.EndLogin(agentName(c))) }

func agentLogoutRoute(s *API, c *call) error {
	return c.done(s.agents.LogOut(c.r.Context(), agentName(c)))
}
