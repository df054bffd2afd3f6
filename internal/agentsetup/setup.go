// Package agentsetup finds coding agents on this machine, checks them, logs them in and
// adds them to the configuration.
package agentsetup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/known"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// checkTime limits a check of an agent.
const checkTime = 3 * time.Minute

// DemoName is the built-in agent's name, which a configured agent may take.
const DemoName = "demo"

// Setup sets agents up. A hub has one, and so has a command without a hub.
type Setup struct {
	Loader config.Loader
	// HubID and RunID mark the agents that it starts.
	HubID, RunID string
	// Version is abide's, which is sent to agents.
	Version string
	Logger  *slog.Logger
	// Apply applies a changed configuration; nil leaves that to a hub.
	Apply func(config.Config)
	// Slot waits for one of the running agents that a hub may have. Nil allows any number.
	Slot func(context.Context) (release func(), err error)
	// Busy has room for one: an agent that is visited. Nil allows any number.
	Busy chan struct{}
}

// WithDemo returns the agents of a configuration, and the built-in one as the last. That
// is left out where it is switched off and there is another.
func WithDemo(c config.Config) ([]config.Agent, error) {
	list := slices.Clone(c.Agents)
	named := slices.ContainsFunc(list, func(agent config.Agent) bool { return agent.Name == DemoName })
	if !named && (c.DemoAgent || len(list) == 0) {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding the built-in agent: %w", err)
		}
		list = append(list, config.Agent{Name: DemoName, Command: []string{self, "demo-agent"}, Shown: "built in, to try abide without a model"})
	}
	return list, nil
}

// Run returns how to run a configured agent. The folder, the marker and the session are
// the caller's.
func Run(agent config.Agent, version string) acp.Config {
	return acp.Config{
		Name: agent.Name, Command: agent.Command, Env: agent.Env, PassEnv: agent.PassEnv,
		MCPServers: mcpServers(agent.MCPServers), Files: agent.Files, Terminals: agent.Terminals,
		Version: version, Bounds: acp.Bounds{Silence: agent.Silence, Start: agent.StartLimit},
	}
}

func mcpServers(configured []config.MCPServer) []acp.MCPServer {
	var list []acp.MCPServer
	for _, s := range configured {
		list = append(list, acp.MCPServer{
			Name: s.Name, Type: s.Type, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers,
		})
	}
	return list
}

// List lists the agents that there are, and those that could be added.
func (s *Setup) List() (wire.AgentSetup, error) {
	list, err := known.Agents()
	if err != nil {
		return wire.AgentSetup{}, err
	}
	return s.ListOf(list)
}

// ListOf is List with these known agents.
func (s *Setup) ListOf(list []known.Agent) (wire.AgentSetup, error) {
	c, err := s.Loader.Load()
	if err != nil {
		return wire.AgentSetup{}, err
	}
	answer := wire.AgentSetup{Configured: []wire.ConfiguredAgent{}, Known: []wire.KnownAgent{}, File: s.Loader.Shown(s.Loader.Path)}
	configured, err := WithDemo(c)
	if err != nil {
		return answer, err
	}
	names := map[string]bool{}
	for i, agent := range configured {
		of, _ := known.Find(list, agent.Name)
		names[agent.Name] = true
		a := wire.ConfiguredAgent{Name: agent.Name, Title: of.Title, Command: agent.Shown, SignIn: of.SignIn, BuiltIn: i >= len(c.Agents)}
		if _, err := acp.Find(Run(agent, s.Version)); err != nil {
			a.Missing = err.Error()
		}
		answer.Configured = append(answer.Configured, a)
	}
	for _, agent := range list {
		command, path := agent.Command(look(agent.Env))
		answer.Known = append(answer.Known, wire.KnownAgent{
			Name: agent.Name, Title: agent.Title, Command: command, Program: path, Install: agent.Install, SignIn: agent.SignIn, Configured: names[agent.Name],
		})
	}
	slices.SortStableFunc(answer.Known, func(a, b wire.KnownAgent) int { return missing(a) - missing(b) })
	return answer, nil
}

func missing(a wire.KnownAgent) int {
	if a.Program == "" {
		return 1
	}
	return 0
}

// look finds a program as an agent with these variables would be found.
func look(env map[string]string) func(string) (string, error) {
	return func(program string) (string, error) {
		return acp.Find(acp.Config{Command: []string{program}, Env: env})
	}
}

// NotInstalledError says how to install an agent.
type NotInstalledError struct{ Agent known.Agent }

// Error implements error.
func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("%s is not installed (no %s in the PATH): run `%s`", e.Agent.Title, strings.Join(e.Agent.Programs, " or "), e.Agent.Install)
}

// Of returns the agent to configure for a known one, which must be installed.
func (s *Setup) Of(agent known.Agent) (config.Agent, error) {
	command, path := agent.Command(look(agent.Env))
	if path == "" {
		return config.Agent{}, &NotInstalledError{agent}
	}
	return config.Agent{Name: agent.Name, Command: command, Shown: strings.Join(command, " "), Env: agent.Env}, nil
}

// Configured returns an agent of the configuration, or the built-in one.
func (s *Setup) Configured(name string) (config.Agent, error) {
	c, err := s.Loader.Load()
	if err != nil {
		return config.Agent{}, err
	}
	list, err := WithDemo(c)
	if err != nil {
		return config.Agent{}, err
	}
	at := slices.IndexFunc(list, func(a config.Agent) bool { return a.Name == name })
	if at < 0 {
		return config.Agent{}, fmt.Errorf("%w: no agent %q is configured", state.ErrNotFound, name)
	}
	return list[at], nil
}

// Vacant returns an error if the configuration has an agent of that name, or if none can
// have it.
func (s *Setup) Vacant(name string) error {
	if err := config.CheckAgentName(name); err != nil {
		return fmt.Errorf("%w: %w", state.ErrInvalid, err)
	}
	c, err := s.Loader.Load()
	if err == nil && slices.ContainsFunc(c.Agents, func(a config.Agent) bool { return a.Name == name }) {
		return fmt.Errorf("%w: an agent %q is configured already", state.ErrConflict, name)
	}
	return err
}

// Add writes an agent into the configuration and applies it. It returns the lines.
func (s *Setup) Add(agent config.Agent) (lines string, err error) {
	if err := s.Vacant(agent.Name); err != nil {
		return "", err
	}
	c, lines, err := s.Loader.AddAgent(agent)
	if err == nil && s.Apply != nil {
		s.Apply(c)
	}
	return lines, err
}

// Check starts an agent once, in an empty folder.
func (s *Setup) Check(ctx context.Context, agent config.Agent, prompt string) (wire.AgentCheck, error) {
	var checked acp.Checked
	err := s.Visit(ctx, agent, func(ctx context.Context, c acp.Config) error {
		checked = acp.Check(ctx, c, prompt)
		return nil
	})
	if err != nil {
		return wire.AgentCheck{}, err
	}
	answer := wire.AgentCheck{
		State: wire.CheckReady, Title: checked.Name, Version: checked.Version, Mode: checked.Mode, AsksNothing: resume.AsksNothing(checked.Mode),
		Methods: authMethods(checked.Methods), LogsOut: checked.LogsOut, Answer: checked.Answer,
	}
	if checked.Err != nil {
		answer.State, answer.Error, answer.Stderr = wire.CheckFailed, checked.Err.Error(), checked.Stderr
	}
	if checked.NeedsLogin {
		answer.State, answer.Error, answer.Stderr = wire.CheckLogin, checked.Reason, ""
	}
	return answer, nil
}

// Visit gives a function the configuration for an agent outside of any session.
func (s *Setup) Visit(ctx context.Context, agent config.Agent, do func(context.Context, acp.Config) error) error {
	if s.Busy != nil {
		select {
		case s.Busy <- struct{}{}:
			defer func() { <-s.Busy }()
		default:
			return fmt.Errorf("%w: another agent is being checked: try again when that is done", state.ErrConflict)
		}
	}
	release, err := s.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	folder, err := s.folder("check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, errors.New("it took more than three minutes"))
	defer cancel()
	c := Run(agent, s.Version)
	c.Workspace, c.HubID, c.RunID, c.SessionID, c.Logger = folder, s.HubID, s.RunID, "check", s.Logger
	return do(ctx, c)
}

func (s *Setup) slot(ctx context.Context) (release func(), err error) {
	if s.Slot == nil {
		return func() {}, nil
	}
	return s.Slot(ctx)
}

// folder makes an empty folder for an agent outside of any session.
func (s *Setup) folder(what string) (string, error) {
	folder, err := os.MkdirTemp("", folders(s.HubID)+what+"-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the %s: %w", what, err)
	}
	return folder, nil
}

func folders(hubID string) string { return "abide-" + hubID + "-" }

// RemoveFolders removes the folders that an earlier run of the hub left.
func (s *Setup) RemoveFolders() error {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folders(s.HubID)+"*"))
	for _, folder := range left {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

func authMethods(methods []acp.AuthMethod) []wire.AuthMethod {
	var list []wire.AuthMethod
	for _, m := range methods {
		list = append(list, wire.AuthMethod{MethodID: m.ID, Name: m.Name, Description: m.Description, Command: m.Command, Configured: m.Configured})
	}
	return list
}

// Logout logs an agent out, if it takes a request for that.
func (s *Setup) Logout(ctx context.Context, agent config.Agent) error {
	err := s.Visit(ctx, agent, acp.LogOut)
	if errors.Is(err, acp.ErrNotOffered) {
		return fmt.Errorf("%w: %s takes no request to log out: use its own program", state.ErrConflict, agent.Name)
	}
	if err != nil && !errors.Is(err, state.ErrConflict) {
		err = fmt.Errorf("%w: %w", state.ErrInvalid, err)
	}
	return err
}
