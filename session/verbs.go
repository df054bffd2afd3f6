package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Prompt sends a prompt once, however often it is called. If the agent is idle, it
// gets the prompt: when Prompt returns received, the prompt is in the log on the
// device. If the agent is busy, the prompt is queued: when Prompt returns queued,
// it is in the queue on the device. A known prompt id gets its latest outcome and
// changes nothing; with another payload than at first it is ErrConflict. A full
// queue is ErrConflict too, and so is a prompt that would begin a turn while the budget of
// its project is used up. An accepted prompt unarchives the session.
func (b *BackgroundSession) Prompt(ctx context.Context, r PromptRequest) (PromptResult, error) {
	if !r.Begun {
		day, err := b.budgets.Stopped(ctx, budget.FolderOf(b.log.Metadata()))
		if err != nil {
			return PromptResult{}, err
		}
		r.stopped = stoppedBy(day)
	}
	return askLater(ctx, b.mail, func(e *engine, reply func(PromptResult, error)) {
		e.intake.inOrder(func() { e.intake.take(r, reply) })
	})
}

// Cancel asks the agent to end its turn. It records open permission requests as
// cancelled. As ACP requires, the agent gets the cancel first and then the
// outcomes. Later output of the agent is recorded. A turn that the agent does not
// have yet ends at once. Without a turn nothing happens.
func (b *BackgroundSession) Cancel(ctx context.Context, actor event.Actor) error {
	return tell(ctx, b.mail, func(e *engine) error { return e.turns.cancel(actor) })
}

// ForceReset ends a turn whose agent does not answer: the turn ends as interrupted,
// and the agent is stopped. The next prompt starts it again. Without a turn nothing
// happens.
func (b *BackgroundSession) ForceReset(ctx context.Context, actor event.Actor) error {
	return tell(ctx, b.mail, func(e *engine) error {
		if e.fold.Recorder.Open || e.imported {
			return e.refusal()
		}
		if !e.fold.Open {
			return nil
		}
		e.logger.Info("turn is reset", "prompt", e.fold.PromptID, "actor", actor.Name)
		return e.turns.reset(actor)
	})
}

// End marks the work of the session as done. When it returns, session_end is on the
// device, the status is ended and the agent is stopped. A later prompt makes the
// session active again. An open interruption is dismissed. While a turn is open, or a
// prompt is about to open one, it is ErrConflict. Ending an ended session changes nothing.
func (b *BackgroundSession) End(ctx context.Context, reason string, actor event.Actor) error {
	return b.EndWith(ctx, Ending{Reason: reason}, actor)
}

// Ending says how a session ends.
type Ending struct {
	Reason string
	// Result is the session's result, of at most 64 KiB of JSON; nil if it has none.
	Result json.RawMessage
	// DropQueue removes the waiting prompts first.
	DropQueue bool
}

// maxResult limits a session's result, in bytes.
const maxResult = 64 << 10

// EndWith is End with a result, or after removing the waiting prompts.
func (b *BackgroundSession) EndWith(ctx context.Context, e Ending, actor event.Actor) error {
	if err := state.CheckReason(e.Reason); err != nil {
		return err
	}
	if len(e.Result) > maxResult || e.Result != nil && !json.Valid(e.Result) {
		return fmt.Errorf("%w: the result is JSON of at most %d KiB", state.ErrInvalid, maxResult>>10)
	}
	if e.DropQueue {
		if err := tell(ctx, b.mail, (*engine).mayEnd); err != nil {
			return err
		}
		if err := b.QueueClear(ctx, actor); err != nil {
			return err
		}
	}
	end := state.EndOf(e.Reason, actor)
	end.Result = e.Result
	return tell(ctx, b.mail, func(e *engine) error { return e.end(end) })
}

// AnswerPermission settles a permission request. The first answer wins: when this
// returns, it is on the device and the agent has it. Repeating the winning answer
// succeeds. Any other answer gets *AlreadyResolved. An unknown or forgotten request
// is ErrNotFound. An option the agent did not offer, or one that cannot be
// remembered as asked, is ErrInvalid. A tool call that changed after SeenSeq is
// ErrConflict.
func (b *BackgroundSession) AnswerPermission(ctx context.Context, a Answer) (event.PermissionOutcome, error) {
	return askLater(ctx, b.mail, func(e *engine, reply func(event.PermissionOutcome, error)) { e.questions.take(a, reply) })
}

// Restart stops the agent, if it runs, and starts it again. A turn that was given
// to the agent is interrupted; a turn that was not is given to the next agent.
// Because a person asked for it, earlier crashes no longer count.
func (b *BackgroundSession) Restart(ctx context.Context, actor event.Actor) error {
	return tell(ctx, b.mail, func(e *engine) error {
		if err := e.refusal(); err != nil {
			return err
		}
		if e.fold.Pauses.Now != nil {
			return errPaused
		}
		e.logger.Info("agent is restarted", "actor", actor.Name)
		e.agent.forgive()
		e.agent.wanted = true
		if e.fold.Open && e.turn.given() {
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
			case e.fold.Pauses.Now != nil:
				return nil, errPaused
			case a.up() && a.settings.asking: // what a person chooses comes after
				return nil, nil
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
	option, err := ask(ctx, b.mail, func(e *engine) (string, error) {
		if e.fold.Job != nil && e.hub.settings().Agent(e.agentName).ActsUnasked(modeID) {
			return "", fmt.Errorf("%w: in mode %s the agent acts without asking, and this job's policy would not hold", state.ErrConflict, modeID)
		}
		return e.agent.modeOption(), nil
	})
	if err != nil {
		return err
	}
	if option != "" {
		return b.SetConfigOption(ctx, option, modeID, actor)
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

// Authenticate restarts the agent, logs in with one of its methods, and waits until
// it is ready. While a turn is open it is ErrBusy. An unknown method is ErrInvalid
// and does not affect the agent. A failed login is ErrInvalid with the agent's
// message.
func (b *BackgroundSession) Authenticate(ctx context.Context, methodID string, actor event.Actor) error {
	if methodID == "" || len(methodID) > 200 || strings.TrimSpace(methodID) == "" {
		return fmt.Errorf("%w: name one of the methods in the agent's state", state.ErrInvalid)
	}
	begun, err := ask(ctx, b.mail, func(e *engine) (bool, error) { return e.agent.beginLogin(methodID, actor, false) })
	if err == nil && !begun {
		if _, err := b.readyAgent(ctx); ctx.Err() != nil {
			return err
		}
		// An agent that did not start and listed no methods may need just this
		// login.
		_, err = ask(ctx, b.mail, func(e *engine) (bool, error) { return e.agent.beginLogin(methodID, actor, true) })
	}
	if err != nil {
		return err
	}
	_, err = b.readyAgent(ctx)
	if failed := b.State().Agent; err != nil && len(failed.AuthMethods) > 0 {
		return fmt.Errorf("%w: %s", state.ErrInvalid, failed.Message)
	}
	return err
}
