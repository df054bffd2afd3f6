package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/internal/known"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// agentGate is a server.AgentSetup.
type agentGate struct {
	setup  *agentsetup.Setup
	logins *agentsetup.Logins
}

// List implements server.AgentSetup.
func (g agentGate) List() (wire.AgentSetup, error) {
	list, err := g.setup.List()
	return list, refusal(err)
}

// Add implements server.AgentSetup.
func (g agentGate) Add(ctx context.Context, in wire.NewAgent) (wire.AddedAgent, error) {
	answer := wire.AddedAgent{Name: in.Name}
	if err := g.setup.Vacant(in.Name); err != nil {
		return answer, refusal(err)
	}
	list, err := known.Agents()
	if err != nil {
		return answer, err
	}
	of, ok := known.Find(list, in.Name)
	if !ok {
		return answer, fmt.Errorf("%w: abide knows no agent %q: add it with `abide agents add %s --command LINE`", state.ErrNotFound, in.Name, in.Name)
	}
	agent, err := g.setup.Of(of)
	if missing := (*agentsetup.NotInstalledError)(nil); errors.As(err, &missing) {
		return answer, fmt.Errorf("%w: %w", state.ErrNotFound, err)
	}
	if err != nil {
		return answer, err
	}
	if !in.Unchecked {
		checked, err := g.setup.Check(ctx, agent, "")
		if err != nil {
			return answer, err
		}
		answer.Check = &checked
		if checked.State == wire.CheckFailed {
			return answer, nil
		}
	}
	answer.Lines, err = g.setup.Add(agent)
	return answer, refusal(err)
}

// Check implements server.AgentSetup.
func (g agentGate) Check(ctx context.Context, name, prompt string) (wire.AgentCheck, error) {
	agent, err := g.setup.Configured(name)
	if err != nil {
		return wire.AgentCheck{}, refusal(err)
	}
	return g.setup.Check(ctx, agent, prompt)
}

// LogIn implements server.AgentSetup.
func (g agentGate) LogIn(ctx context.Context, name string, in wire.Login, until func(context.Context) context.Context) (wire.AgentLogin, error) {
	agent, err := g.setup.Configured(name)
	if err != nil {
		return wire.AgentLogin{}, refusal(err)
	}
	return g.logins.Begin(ctx, agent, in, until)
}

// Login implements server.AgentSetup.
func (g agentGate) Login(ctx context.Context, name string, seen int) (wire.AgentLogin, error) {
	return g.logins.Output(ctx, name, seen)
}

// TypeLogin implements server.AgentSetup.
func (g agentGate) TypeLogin(ctx context.Context, name, line string) error {
	return g.logins.Type(ctx, name, line)
}

// EndLogin implements server.AgentSetup.
func (g agentGate) EndLogin(name string) error { return g.logins.End(name) }

// LogOut implements server.AgentSetup.
func (g agentGate) LogOut(ctx context.Context, name string) error {
	agent, err := g.setup.Configured(name)
	if err != nil {
		return refusal(err)
	}
	return g.setup.Logout(ctx, agent)
}
