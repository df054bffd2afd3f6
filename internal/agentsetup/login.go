package agentsetup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/state"
)

// loginTime limits a login in a terminal of the hub.
const loginTime = 10 * time.Minute

// Logins keeps the login that runs in a terminal of the hub, one at a time, and the last
// one that ended.
type Logins struct {
	setup *Setup
	run   func(name string, f func(context.Context) error)

	mu     sync.Mutex
	last   *login // guarded by mu
	taking bool   // guarded by mu: one is being started
}

// login is a login command in a terminal.
type login struct {
	agent    string
	method   acp.AuthMethod
	terminal *acp.Login
	end      context.CancelFunc
}

// NewLogins returns the logins of a hub. run runs a function beside the hub until it
// closes; the function returns soon after its context has ended.
func NewLogins(setup *Setup, run func(name string, f func(context.Context) error)) *Logins {
	return &Logins{setup: setup, run: run}
}

// Begin logs an agent in by one of its methods. If that is a command, it runs in a
// terminal when Begin returns; otherwise the login has ended.
//
// A command that is not the agent's configured one is only run if in names it: a person
// has seen it. until makes a context that ends when the command must.
func (l *Logins) Begin(ctx context.Context, agent config.Agent, in wire.Login, until func(context.Context) context.Context) (wire.AgentLogin, error) {
	id := in.MethodID
	if err := l.take(); err != nil {
		return wire.AgentLogin{}, err
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.taking = false
	}()
	var methods []acp.AuthMethod
	err := l.setup.Visit(ctx, agent, func(ctx context.Context, c acp.Config) (err error) {
		methods, err = acp.Methods(ctx, c)
		return err
	})
	if err != nil {
		return wire.AgentLogin{}, fmt.Errorf("%w: %s did not tell its ways to log in: %w", state.ErrInvalid, agent.Name, err)
	}
	at := slices.IndexFunc(methods, func(m acp.AuthMethod) bool { return m.ID == id })
	if at < 0 {
		return wire.AgentLogin{}, fmt.Errorf("%w: %q is not one of the ways to log in of %s", state.ErrInvalid, id, agent.Name)
	}
	if len(methods[at].Command) == 0 {
		answer := wire.AgentLogin{MethodID: id, Ended: true}
		err := l.setup.Visit(ctx, agent, func(ctx context.Context, c acp.Config) error { return acp.LogIn(ctx, c, id) })
		if err != nil {
			answer.Error = err.Error()
		}
		return answer, nil
	}
	if err := Seen(agent, methods[at].Command, in.Command); err != nil {
		return wire.AgentLogin{}, err
	}
	release, err := l.setup.slot(ctx)
	if err != nil {
		return wire.AgentLogin{}, err
	}
	answer, err := l.start(agent, methods[at], until, release)
	if err != nil {
		release()
	}
	return answer, err
}

// Seen returns an error if a login's command is neither what a person has seen, nor the
// agent's configured command with arguments.
func Seen(agent config.Agent, command, seen []string) error {
	own := len(seen) == 0 && len(command) >= len(agent.Command) && slices.Equal(command[:len(agent.Command)], agent.Command)
	if own || slices.Equal(command, seen) {
		return nil
	}
	return fmt.Errorf("%w: this login runs %q, which %s named just now: to run it, repeat the request with that as command", state.ErrConflict, command, agent.Name)
}

// take reserves the place of the one login, and ends the one before.
func (l *Logins) take() error {
	l.mu.Lock()
	if l.taking {
		l.mu.Unlock()
		return fmt.Errorf("%w: another login is being started: try again", state.ErrConflict)
	}
	l.taking = true
	last := l.last
	l.mu.Unlock()
	if last != nil {
		last.end()
		<-last.terminal.Done()
	}
	return nil
}

// start runs a method's command, and releases its slot when that has ended.
func (l *Logins) start(agent config.Agent, method acp.AuthMethod, until func(context.Context) context.Context, release func()) (wire.AgentLogin, error) {
	folder, err := l.setup.folder("login")
	if err != nil {
		return wire.AgentLogin{}, err
	}
	ctx, end := context.WithTimeout(context.Background(), loginTime)
	ctx = until(ctx)
	c := Run(agent, l.setup.Version)
	c.Workspace, c.HubID, c.RunID, c.SessionID, c.Logger = folder, l.setup.HubID, l.setup.RunID, "login", l.setup.Logger
	terminal, err := acp.StartLogin(ctx, c, method.Command)
	if err != nil {
		end()
		return wire.AgentLogin{}, errors.Join(fmt.Errorf("%w: %w", state.ErrInvalid, err), os.RemoveAll(folder))
	}
	o := &login{agent: agent.Name, method: method, terminal: terminal, end: end}
	l.mu.Lock()
	l.last = o
	l.mu.Unlock()
	l.run("login", func(hub context.Context) error {
		select {
		case <-terminal.Done():
		case <-hub.Done():
		}
		end()
		<-terminal.Done()
		release()
		return os.RemoveAll(folder)
	})
	text, size, ended := terminal.Output(ctx, -1)
	return o.answer(text, size, ended), nil
}

func (o *login) answer(text string, size int, ended bool) wire.AgentLogin {
	a := wire.AgentLogin{MethodID: o.method.ID, Command: o.method.Command, Text: text, Size: size, Ended: ended}
	if err := o.terminal.Failed(); ended && err != nil {
		a.Error = err.Error()
	}
	return a
}

// of returns the login of an agent.
func (l *Logins) of(agent string) (*login, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.agent != agent {
		return nil, fmt.Errorf("%w: no login of %q is under way", state.ErrNotFound, agent)
	}
	return l.last, nil
}

// Output waits until the output of an agent's login differs from that of size seen, or it
// has ended, or ctx ends.
func (l *Logins) Output(ctx context.Context, agent string, seen int) (wire.AgentLogin, error) {
	o, err := l.of(agent)
	if err != nil {
		return wire.AgentLogin{}, err
	}
	return o.answer(o.terminal.Output(ctx, seen)), nil
}

// Type gives the login of an agent a line of input.
func (l *Logins) Type(ctx context.Context, agent, line string) error {
	o, err := l.of(agent)
	if err != nil {
		return err
	}
	err = o.terminal.Type(ctx, line)
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, acp.ErrStuck):
		return fmt.Errorf("%w: %w", state.ErrConflict, err)
	}
	return fmt.Errorf("%w: %w", state.ErrInvalid, err)
}

// End ends the login of an agent, and returns when it is over.
func (l *Logins) End(agent string) error {
	o, err := l.of(agent)
	if err == nil {
		o.end()
		<-o.terminal.Done()
	}
	return err
}
