package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/cli"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/known"
	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/state"
)

// registryTime limits the request for a registry.
const registryTime = 20 * time.Second

// agentShell is the environment of the commands below `abide agents`, which need no hub.
type agentShell struct {
	load           func(config.Flags) (config.Loader, error)
	stdin          io.Reader
	stdout, stderr io.Writer
	version        string

	json bool // --json
}

// commands are the commands below `abide agents`.
func (p *agentShell) commands() []*cobra.Command {
	return []*cobra.Command{p.agentAdd(), p.agentCheck(), p.agentLogin(), p.agentLogout()}
}

// setup returns the part that finds and checks agents, without a hub.
func (p *agentShell) setup() (*agentsetup.Setup, error) {
	if err := localhub.NotAnAgent(); err != nil {
		return nil, err
	}
	loader, err := p.load(config.Flags{})
	if err != nil {
		return nil, err
	}
	return &agentsetup.Setup{Loader: loader, HubID: "command", RunID: fmt.Sprint(os.Getpid()), Version: p.version, Logger: slog.New(slog.DiscardHandler)}, nil
}

// here is the answer of `abide agents` where no hub runs.
func (p *agentShell) here() (wire.Agents, wire.AgentSetup, error) {
	answer := wire.Agents{Agents: []wire.AgentChoice{}, Workspaces: []string{}}
	s, err := p.setup()
	if err != nil {
		return answer, wire.AgentSetup{}, err
	}
	c, err := s.Loader.Load()
	if err != nil {
		return answer, wire.AgentSetup{}, err
	}
	list, err := s.List()
	for _, a := range list.Configured {
		answer.Agents = append(answer.Agents, wire.AgentChoice{Name: a.Name, Description: a.Command})
	}
	answer.Workspaces = append(answer.Workspaces, c.Workspaces...)
	return answer, list, err
}

func (p *agentShell) agentAdd() *cobra.Command {
	var command, prompt, registry string
	var unchecked bool
	cmd := &cobra.Command{
		Use: "add [NAME]", Short: "Add an agent to the configuration; without NAME, list those that abide knows",
		Long: "Add an agent to the configuration. It must be installed; otherwise its install command is printed.\n" +
			"Before it is added, it is started once: one that does not start is not added. A running hub applies the change at once.",
		Example: "  abide agents add\n  abide agents add claude\n  abide agents add mine --command '~/bin/my-agent --acp'",
		Args:    cli.Arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.setup()
			if err != nil {
				return err
			}
			list, err := listed(cmd.Context(), s, registry)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return p.addable(s, list)
			}
			agent, err := wanted(s, list, args[0], command)
			if err != nil {
				return err
			}
			return p.addAgent(cmd.Context(), s, agent, unchecked, prompt)
		},
	}
	cmd.Flags().StringVar(&command, "command", "", "the agent's `COMMAND` line, for an agent that abide does not know")
	cmd.Flags().StringVar(&registry, "registry", "", "choose from the ACP registry in this `FILE` or at this https URL, not from the agents that abide knows")
	cmd.Flags().BoolVar(&unchecked, "no-check", false, "add it without starting it")
	cmd.Flags().StringVar(&prompt, "prompt", "", "let the check give the agent this `TEXT` and print the answer")
	return cmd
}

// addable lists the agents that can be added, those that are installed first.
func (p *agentShell) addable(s *agentsetup.Setup, known []known.Agent) error {
	list, err := s.ListOf(known)
	if err != nil {
		return err
	}
	for _, a := range list.Known {
		about := a.Program
		switch {
		case a.Configured:
			about = "configured"
		case a.Program == "":
			about = "not installed: " + a.Install
		}
		if _, err := fmt.Fprintf(p.stdout, "%-10s %-15s %s\n", plain.Line(a.Name), plain.Line(a.Title), plain.Line(about)); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the agents to choose from: those of a registry if there is one.
func listed(ctx context.Context, s *agentsetup.Setup, registry string) ([]known.Agent, error) {
	if registry == "" {
		return known.Agents()
	}
	data, err := readRegistry(ctx, s, registry)
	if err != nil {
		return nil, fmt.Errorf("--registry: %w", err)
	}
	list, err := known.ReadRegistry(data)
	if err != nil {
		return nil, cli.Usagef("--registry %s: %w", registry, err)
	}
	return list, nil
}

func readRegistry(ctx context.Context, s *agentsetup.Setup, registry string) ([]byte, error) {
	if !strings.Contains(registry, "://") {
		file, err := os.Open(registry)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return io.ReadAll(io.LimitReader(file, known.MaxRegistry+1))
	}
	c, err := s.Loader.Load()
	if err != nil {
		return nil, err
	}
	g := &outgoing.Guard{Allow: c.Outgoing.Allow, Bound: registryTime, Most: known.MaxRegistry}
	answer, err := g.Send(ctx, http.MethodGet, registry, nil, nil)
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("it answered %d", answer.Status)
	}
	return answer.Body, err
}

// wanted returns the agent to add.
func wanted(s *agentsetup.Setup, list []known.Agent, name, command string) (config.Agent, error) {
	if err := s.Vacant(name); err != nil {
		return config.Agent{}, err
	}
	if command != "" {
		words, err := splitCommand(command)
		if err != nil {
			return config.Agent{}, cli.Usagef("--command: %w", err)
		}
		if path := blankIn(words); path != "" {
			return config.Agent{}, cli.Usagef("--command: %s has a blank: quote it within the command, as in --command \"'%s' --acp\"", path, path)
		}
		return config.Agent{Name: name, Command: words, Shown: command}, nil
	}
	agent, ok := known.Find(list, name)
	if !ok {
		return config.Agent{}, fmt.Errorf("%w: abide knows no agent %q (`abide agents add` lists them): give its command with --command", state.ErrNotFound, name)
	}
	return s.Of(agent)
}

// blankIn returns a program whose path the words were cut out of; empty if the first is a
// program, or none is.
func blankIn(words []string) string {
	found := func(program string) bool {
		_, err := acp.Find(acp.Config{Command: []string{program}})
		return err == nil
	}
	for n := 2; n <= len(words) && !found(words[0]); n++ {
		if path := strings.Join(words[:n], " "); found(path) {
			return path
		}
	}
	return ""
}

// splitCommand splits a command line into words: quotes and backslashes are as in a
// shell, and nothing is expanded.
func splitCommand(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, escaped, quote := false, false, rune(0)
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			begun, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty")
	}
	return words, nil
}

func (p *agentShell) addAgent(ctx context.Context, s *agentsetup.Setup, agent config.Agent, unchecked bool, prompt string) error {
	if !unchecked {
		checked, err := s.Check(ctx, agent, prompt)
		if err != nil {
			return err
		}
		if err := p.printCheck(agent.Name, checked); err != nil {
			return fmt.Errorf("%w; it was not added (--no-check adds it)", err)
		}
	}
	lines, err := s.Add(agent)
	if err != nil {
		return editFailed(p.stdout, err)
	}
	if err := p.recordHere(s, audit.Record{Verb: audit.AgentAdded, Detail: detailOf(lines)}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "added to %s; a running hub applies it at once:\n%s", s.Loader.Shown(s.Loader.Path), lines)
	return err
}

// detailOf is added lines as one line of the audit trail.
func detailOf(lines string) string { return strings.Join(strings.Fields(lines), " ") }

// recordHere records an action.
func (p *agentShell) recordHere(s *agentsetup.Setup, r audit.Record) error {
	c, err := s.Loader.Load()
	if err != nil {
		return err
	}
	return localhub.Record(c.Data, r)
}

// printCheck prints the result of a check. An agent that failed is an error.
func (p *agentShell) printCheck(name string, c wire.AgentCheck) error {
	title := strings.TrimSpace(plain.Line(c.Title + " " + c.Version))
	if title == "" {
		title = name
	}
	switch c.State {
	case wire.CheckFailed:
		for line := range strings.Lines(strings.TrimRight(c.Stderr, "\n")) {
			fmt.Fprintf(p.stderr, "  %s\n", plain.Line(strings.TrimRight(line, "\n")))
		}
		return fmt.Errorf("%s does not work: %s", name, c.Error)
	case wire.CheckLogin:
		fmt.Fprintf(p.stdout, "%s starts and needs a login first: abide agents login %s\n", title, name)
		if c.Error != "" {
			fmt.Fprintf(p.stdout, "it says: %s\n", plain.Line(c.Error))
		}
		return nil
	}
	text := title + " works"
	if c.Mode != "" {
		text += "; it begins in mode " + plain.Line(c.Mode)
	}
	if c.AsksNothing {
		text += ", in which it asks for nothing"
	}
	_, err := fmt.Fprintln(p.stdout, text)
	if err == nil && c.Answer != "" {
		_, err = fmt.Fprintln(p.stdout, plain.Text(c.Answer))
	}
	return err
}

func (p *agentShell) agentCheck() *cobra.Command {
	var prompt string
	cmd := &cobra.Command{
		Use: "check NAME", Short: "Start an agent once: does it work, and does it need a login?",
		Example: "  abide agents check claude\n  abide agents check claude --prompt 'Say hello.'",
		Args:    cli.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, agent, err := p.agentOf(args[0])
			if err != nil {
				return err
			}
			checked, err := s.Check(cmd.Context(), agent, prompt)
			if err != nil {
				return err
			}
			if p.json {
				return cli.WriteJSON(p.stdout, checked)
			}
			return p.printCheck(agent.Name, checked)
		},
	}
	cmd.Flags().StringVar(&prompt, "prompt", "", "give the agent this `TEXT` and print the answer")
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON")
	return cmd
}

// agentOf returns a configured agent, else a known one that is installed.
func (p *agentShell) agentOf(name string) (*agentsetup.Setup, config.Agent, error) {
	s, err := p.setup()
	if err != nil {
		return nil, config.Agent{}, err
	}
	agent, err := s.Configured(name)
	if errors.Is(err, state.ErrNotFound) {
		var list []known.Agent
		if list, err = known.Agents(); err == nil {
			agent, err = wanted(s, list, name, "")
		}
	}
	return s, agent, err
}

func (p *agentShell) agentLogin() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "login NAME [METHOD]", Short: "Log an agent in, by one of its own methods",
		Long:    "Log an agent in, by one of its own methods. A login that needs a terminal runs here.",
		Example: "  abide agents login codex\n  abide agents login codex chat-gpt",
		Args:    cli.Arguments(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, agent, err := p.agentOf(args[0])
			if err != nil {
				return err
			}
			method := ""
			if len(args) > 1 {
				method = args[1]
			}
			return p.login(cmd.Context(), s, agent, method, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "run a login command that is not the configured one without asking")
	return cmd
}

// confirm shows the command of a login. One that is not the agent's configured command is
// only run if a person says so.
func (p *agentShell) confirm(agent config.Agent, command []string, yes bool) error {
	fmt.Fprintf(p.stderr, "This login runs: %s\n", plain.Line(strings.Join(command, " ")))
	if yes || agentsetup.Seen(agent, command, nil) == nil {
		return nil
	}
	if in, is := p.stdin.(*os.File); !is || !term.IsTerminal(int(in.Fd())) {
		return cli.Usagef("the agent asks to run this; it is not the configured command of %s: run it only if you trust it, with --yes", agent.Name)
	}
	fmt.Fprintf(p.stderr, "The agent asks to run this; it is not the configured command of %s. Run it only if you trust it. Run it? [y/N] ", agent.Name)
	sure := ""
	_, _ = fmt.Fscanln(p.stdin, &sure) // no answer is no; it reads no further than the line, which is the command's
	if !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
		return errors.New("the login was not begun")
	}
	return nil
}

func (p *agentShell) login(ctx context.Context, s *agentsetup.Setup, agent config.Agent, id string, yes bool) error {
	checked, err := s.Check(ctx, agent, "")
	if err != nil {
		return err
	}
	if checked.State == wire.CheckFailed {
		return p.printCheck(agent.Name, checked)
	}
	method, err := p.methodOf(agent, checked.Methods, id)
	if err != nil {
		return err
	}
	if len(method.Command) > 0 {
		if err := p.confirm(agent, method.Command, yes); err != nil {
			return err
		}
		err = s.Visit(ctx, agent, func(ctx context.Context, c acp.Config) error { return p.loginHere(ctx, c, method.Command) })
	} else {
		err = s.Visit(ctx, agent, func(ctx context.Context, c acp.Config) error { return acp.LogIn(ctx, c, method.MethodID) })
	}
	detail := agent.Name + " by " + method.MethodID
	if len(method.Command) > 0 {
		detail += ": " + strings.Join(method.Command, " ")
	}
	if err != nil {
		detail += "; failed: " + err.Error()
		err = fmt.Errorf("login by %q failed: %w", method.MethodID, err)
	}
	if err := errors.Join(err, p.recordHere(s, audit.Record{Verb: audit.AgentLogin, Detail: detail})); err != nil {
		return err
	}
	if checked, err = s.Check(ctx, agent, ""); err != nil {
		return err
	}
	return p.printCheck(agent.Name, checked)
}

// methodOf returns the method with the id; without one, the only method.
func (p *agentShell) methodOf(agent config.Agent, methods []wire.AuthMethod, id string) (wire.AuthMethod, error) {
	if len(methods) == 0 {
		return wire.AuthMethod{}, fmt.Errorf("%s names no way to log in", agent.Name)
	}
	at := slices.IndexFunc(methods, func(m wire.AuthMethod) bool { return m.MethodID == id })
	if id == "" && len(methods) == 1 {
		at = 0
	}
	if at >= 0 {
		return methods[at], nil
	}
	for _, m := range methods {
		fmt.Fprintf(p.stdout, "%s  %s\n", plain.Line(m.MethodID), plain.Line(strings.TrimSpace(m.Name+". "+m.Description)))
	}
	return wire.AuthMethod{}, cli.Usagef("name one of the methods: abide agents login %s METHOD", agent.Name)
}

// loginHere runs a login command in the person's own terminal.
func (p *agentShell) loginHere(ctx context.Context, c acp.Config, command []string) error {
	path, env, err := acp.Program(c, command)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env = command, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.stdout, p.stderr
	return cmd.Run()
}

func (p *agentShell) agentLogout() *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Log an agent out",
		Example: "  abide agents logout codex",
		Args:    cli.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, agent, err := p.agentOf(args[0])
			if err != nil {
				return err
			}
			err = s.Logout(cmd.Context(), agent)
			detail := agent.Name
			if err != nil {
				detail += "; refused: " + err.Error()
			}
			if err := errors.Join(err, p.recordHere(s, audit.Record{Verb: audit.AgentLogout, Detail: detail})); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "%s is logged out\n", agent.Name)
			return err
		},
	}
}
