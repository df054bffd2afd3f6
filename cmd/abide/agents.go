package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/known"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// agents starts the configured agents for sessions. A changed configuration applies
// to agents started from then on.
type agents struct {
	hubID, runID string
	own          []string // the hub's own files; see ownFiles
	logger       *slog.Logger
	configured   atomic.Pointer[[]config.Agent]
}

// configure takes the agents of a configuration, and the built-in one as the last. That
// is left out where it is switched off and there is another.
func (a *agents) configure(c config.Config) error {
	list, err := agentsetup.WithDemo(c)
	if err == nil {
		a.configured.Store(&list)
	}
	return err
}

// infos describes the agents to sessions, in the order of the configuration.
func (a *agents) infos(c config.Config) []settings.Agent {
	var list []settings.Agent
	listed, err := known.Agents()
	if err != nil {
		a.logger.Error("known agents cannot be read", "err", err)
	}
	for _, agent := range *a.configured.Load() {
		of := c.Resume.Of(agent.Resume)
		info := settings.Agent{
			Name: agent.Name, Description: agent.Shown, Command: agent.Command, Delegating: agent.Resume.Delegating,
			Resume: settings.Resume{
				StaleAfter: of.StaleAfter, Auto: of.Auto, SegmentedFallback: of.SegmentedFallback, SegmentTokens: of.SegmentTokens,
			},
			StartLimit: agent.StartLimit,
			Begin:      settings.Begin{Mode: agent.Mode, Model: agent.Model, Options: agent.Options},
		}
		is, _ := known.Running(listed, agent.Name, agent.Command)
		if slices.Contains(agent.Command, "demo-agent") {
			is.Asks, is.Unasked, is.Reports = "ask", []string{"auto"}, []string{"tokens", "cost"}
		}
		info.Continue, info.Asks, info.Unasked, info.Reports = is.Continue, is.Asks, is.Unasked, is.Reports
		for _, server := range agent.MCPServers {
			info.MCPServers = append(info.MCPServers, server.Name)
		}
		list = append(list, info)
	}
	return list
}

// start is a session.StartAgent.
func (a *agents) start(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	for _, agent := range *a.configured.Load() {
		if agent.Name == spec.Agent {
			return a.run(ctx, agent, spec, sink)
		}
	}
	return nil, fmt.Errorf("%w: agent %q is not configured any more", state.ErrNotFound, spec.Agent)
}

// setUp is a session.SetUp.
func (a *agents) setUp(ctx context.Context, spec session.AgentSpec, command []string, sink session.AgentSink) error {
	for _, agent := range *a.configured.Load() {
		if agent.Name == spec.Agent {
			c := agentsetup.Run(agent, versionText())
			c.Workspace, c.HubID, c.RunID, c.SessionID, c.Logger = spec.Workspace, a.hubID, a.runID, spec.SessionID, a.logger
			return acp.SetUp(ctx, c, command, sink)
		}
	}
	return fmt.Errorf("%w: agent %q is not configured any more", state.ErrNotFound, spec.Agent)
}

// listPast is a session.ListPast.
func (a *agents) listPast(ctx context.Context, name, workspace, folder, cursor string) (page session.PastPage, err error) {
	for _, agent := range *a.configured.Load() {
		if agent.Name != name {
			continue
		}
		c := agentsetup.Run(agent, versionText())
		c.Workspace, c.HubID, c.RunID, c.Logger = workspace, a.hubID, a.runID, a.logger
		c.SessionID = "list-" + rand.Text() // its end ends all processes with its marker
		stored, err := acp.List(ctx, c, folder, cursor)
		var login *acp.AuthError
		if errors.As(err, &login) {
			return page, loginNeeded(login.Methods, err)
		}
		page.Next, page.LeftOut = stored.Next, stored.LeftOut
		for _, s := range stored.Sessions {
			page.Sessions = append(page.Sessions, session.PastSession{AgentSessionID: s.ID, Folder: s.Workspace, Title: s.Title, UpdatedAt: s.UpdatedAt})
		}
		return page, err
	}
	return page, fmt.Errorf("%w: agent %q is not configured any more", state.ErrNotFound, name)
}

func (a *agents) run(ctx context.Context, agent config.Agent, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	past := &past{}
	if spec.ContextLost {
		past.log, past.after = spec.Past, spec.PastAfter
	}
	c := agentsetup.Run(agent, versionText())
	c.Workspace, c.HubID, c.RunID, c.SessionID = spec.Workspace, a.hubID, a.runID, spec.SessionID
	c.Directories, c.Allow = spec.Directories, spec.Allow
	c.Resume, c.Adopt, c.ContextLost, c.Account, c.Known = spec.AgentSessionID, spec.Adopt, spec.ContextLost, past.text, past.known
	c.Private, c.AuthMethod, c.OpenBlob, c.Logger = a.own, spec.AuthMethod, spec.OpenBlob, a.logger
	c.Starting = sink.Starting
	running, err := acp.Start(ctx, c, sink)
	var login *acp.AuthError
	if errors.As(err, &login) {
		return nil, loginNeeded(login.Methods, err)
	}
	if err != nil {
		return nil, err // and not a nil *acp.Agent in an interface
	}
	return running, nil
}

func loginNeeded(methods []acp.AuthMethod, err error) error {
	needed := &session.LoginNeeded{Err: err}
	for _, m := range methods {
		needed.Methods = append(needed.Methods, session.AuthMethod{MethodID: m.ID, Name: m.Name, Description: m.Description, Command: m.Command, Configured: m.Configured})
	}
	return needed
}
