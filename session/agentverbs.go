package session

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Restart stops the agent, if it runs, and starts it again. A turn that was given
// to the agent is interrupted; a turn that was not is given to the next agent.
// Because a person asked for it, earlier crashes no longer count.
func (b *BackgroundSession) Restart(ctx context.Context, actor event.Actor) error {
	return tell(ctx, b.mail, func(e *engine) error {
		if err := e.refusal(); err != nil {
			return err
		}
		e.logger.Info("agent is restarted", "actor", actor.Name)
		e.agent.forgive()
		e.agent.wanted = true
		if e.fold.open && e.turn.given {
			e.turn.cut = event.CutAgentRestart
			return e.turns.reset(actor)
		}
		e.agent.stop(stopReset)
		return nil
	})
}

// readyAgent waits until the agent is ready, starting it if need be.
func (b *BackgroundSession) readyAgent(ctx context.Context) (Agent, error) {
	for asked := false; ; asked = true {
		changed := b.StateChanged()
		proc, err := ask(ctx, b.mail, func(e *engine) (Agent, error) {
			if err := e.refusal(); err != nil {
				return nil, err
			}
			a := &e.agent
			switch {
			case a.up():
				return a.proc, nil
			case a.status == AgentFailed && asked:
				return nil, fmt.Errorf("%w: %s", state.ErrUnavailable, a.message)
			case !asked:
				if a.status == AgentFailed {
					a.forgive()
				}
				a.wanted = true
			}
			return nil, nil
		})
		if err != nil || proc != nil {
			return proc, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// SetMode changes the agent's mode and waits for its answer, starting it if need
// be. The new mode comes as an event.
func (b *BackgroundSession) SetMode(ctx context.Context, modeID string, actor event.Actor) error {
	if modeID == "" {
		return fmt.Errorf("%w: no mode was named", state.ErrInvalid)
	}
	proc, err := b.readyAgent(ctx)
	if err != nil {
		return err
	}
	if err := proc.SetMode(ctx, modeID, actor); err != nil {
		return fmt.Errorf("%w: the agent did not take mode %q: %w", state.ErrInvalid, modeID, err)
	}
	b.mail.post(func(e *engine) { e.agent.chose("mode", modeID) })
	return nil
}

// SetConfigOption changes one of the agent's options, to a string or a boolean, and
// waits for its answer, starting the agent if need be. The new options come as an
// event.
func (b *BackgroundSession) SetConfigOption(ctx context.Context, id string, value any, actor event.Actor) error {
	switch value.(type) {
	case string, bool:
	default:
		return fmt.Errorf("%w: an option's value is a string or a boolean", state.ErrInvalid)
	}
	if id == "" {
		return fmt.Errorf("%w: no option was named", state.ErrInvalid)
	}
	proc, err := b.readyAgent(ctx)
	if err != nil {
		return err
	}
	if err := proc.SetConfigOption(ctx, id, value, actor); err != nil {
		return fmt.Errorf("%w: the agent did not take option %q: %w", state.ErrInvalid, id, err)
	}
	b.mail.post(func(e *engine) { e.agent.choseOption(id) })
	return nil
}
