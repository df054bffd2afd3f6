package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// Prompt sends one prompt to the agent and returns; it never waits for the agent.
// The end comes through the sink as an event.TurnEnd with its id, unless the agent
// exits first. ErrBusy means that a turn is open, ErrGone that the agent is ending.
func (a *Agent) Prompt(p event.UserPrompt) error {
	t := &turn{prompt: p.PromptID, began: a.cfg.Clock.Now(), ended: make(chan struct{})}
	a.mu.Lock()
	if a.turn != nil {
		a.mu.Unlock()
		return fmt.Errorf("prompt %s: %w", p.PromptID, ErrBusy)
	}
	a.turn = t
	account := a.account
	a.account = ""
	a.mu.Unlock()
	if !a.tasks.start(func() { a.sendPrompt(t, p, account) }) {
		a.settled(p.PromptID)
		return fmt.Errorf("prompt %s: %w", p.PromptID, ErrGone)
	}
	return nil
}

// sendPrompt reads the attachments, which may take a moment, and sends.
func (a *Agent) sendPrompt(t *turn, p event.UserPrompt, account string) {
	blocks, err := a.promptBlocks(p, account)
	if err == nil {
		text := sentText(blocks)
		a.tap.stream.prompted.Store(&text)
		params := map[string]any{"sessionId": a.SessionID(), "prompt": blocks}
		// A prompt is never abandoned: that would lose its stop reason.
		err = a.send(&call{method: methodPrompt, about: t.prompt}, params)
	}
	if err != nil {
		a.settled(t.prompt)
		if !errors.Is(err, ErrGone) {
			_ = a.rec.put(event.TurnEnd{ // a failed sink ends the agent
				PromptID: t.prompt, StopReason: event.StopInterrupted,
				Error: &event.Failure{Code: "not_sent", Message: fmt.Sprintf("The prompt could not be given to the agent: %v.", err)},
			})
		}
		return
	}
	a.mu.Lock()
	t.sent = true
	cancel := t.cancel
	a.mu.Unlock()
	if cancel {
		_ = a.notify(methodCancel) // an agent that is gone has ended the turn
	}
}

// settled ends the turn of that prompt.
func (a *Agent) settled(prompt string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn != nil && a.turn.prompt == prompt {
		close(a.turn.ended)
		a.turn = nil
	}
}

// Cancel asks the agent to end its turn and returns. The turn still ends with
// an event.TurnEnd. Without an open turn it does nothing.
func (a *Agent) Cancel() error {
	a.mu.Lock()
	if a.turn == nil {
		a.mu.Unlock()
		return nil
	}
	if !a.turn.sent { // sendPrompt sends the cancel after the prompt
		a.turn.cancel = true
		a.mu.Unlock()
		return nil
	}
	a.mu.Unlock()
	return a.notify(methodCancel)
}

func (a *Agent) notify(method string) error {
	if err := a.conn.SendNotification(a.ctx, method, map[string]any{"sessionId": a.SessionID()}); err != nil {
		return fmt.Errorf("send %s: %w: %w", method, ErrGone, err)
	}
	return nil
}

// Answer settles a permission request that the sink got, and returns. The first
// answer counts: ErrNotOpen means that the request was settled, withdrawn or never
// made.
func (a *Agent) Answer(o event.PermissionOutcome) error {
	q := a.inbound.settle(o.PermissionID)
	if q == nil {
		return fmt.Errorf("answer %s: %w", o.PermissionID, ErrNotOpen)
	}
	if _, err := a.in.Write(q.response(q.answerTo(o))); err != nil {
		return fmt.Errorf("answer %s: %w: %w", o.PermissionID, ErrGone, err)
	}
	return nil
}

// SetMode changes the agent's mode and waits for its response. The new mode is
// recorded as an event.Mode before it returns.
func (a *Agent) SetMode(ctx context.Context, modeID string, by event.Actor) error {
	c := &call{method: methodSetMode, about: modeID, by: by}
	_, err := a.ask(ctx, c, map[string]any{"sessionId": a.SessionID(), "modeId": modeID})
	return err
}

// SetConfigOption changes one option, to a string or a boolean, and waits for the
// agent's response. The new set is recorded as an event.Config before it returns.
func (a *Agent) SetConfigOption(ctx context.Context, id string, value any, by event.Actor) error {
	if model, is := value.(string); is && id == modelOption && a.tap.stream.models.Load() != nil {
		_, err := a.ask(ctx, &call{method: methodSetModel, about: model, by: by}, map[string]any{"sessionId": a.SessionID(), "modelId": model})
		return err
	}
	params := map[string]any{"sessionId": a.SessionID(), "configId": id, "value": value}
	switch value.(type) {
	case string:
	case bool:
		params["type"] = "boolean"
	default:
		return fmt.Errorf("set option %s: %T is neither a string nor a boolean", id, value)
	}
	_, err := a.ask(ctx, &call{method: methodSetOption, about: id, by: by}, params)
	return err
}

// ErrNotOffered means that the agent does not support the request.
var ErrNotOffered = errors.New("the agent does not offer this")

// Forget makes the agent delete its session, if it supports that.
func (a *Agent) Forget(ctx context.Context) error {
	if !a.can(func(o offers) bool { return o.delete }) {
		return fmt.Errorf("%s: %w", methodDelete, ErrNotOffered)
	}
	_, err := a.request(ctx, methodDelete, map[string]any{"sessionId": a.SessionID()})
	return err
}

// SetTitle tells the agent the name that a person gave the session, if it takes one.
func (a *Agent) SetTitle(ctx context.Context, title string) error {
	if !a.can(func(o offers) bool { return o.title }) {
		return fmt.Errorf("%s: %w", methodSetTitle, ErrNotOffered)
	}
	_, err := a.request(ctx, methodSetTitle, map[string]any{"sessionId": a.SessionID(), "title": title})
	return err
}

// Fork makes the agent copy its session for work in a folder, and returns its id of the
// copy, which another agent then resumes. ErrNotOffered means that the agent cannot do
// one of both.
func (a *Agent) Fork(ctx context.Context, folder string) (string, error) {
	if !a.can(func(o offers) bool { return o.fork && o.resume }) {
		return "", fmt.Errorf("%s: %w", methodFork, ErrNotOffered)
	}
	a.tap.stream.forking.Add(1)
	defer a.tap.stream.forking.Add(-1)
	a.mu.Lock()
	params := a.placed(a.offers, folder, []json.RawMessage{})
	a.mu.Unlock()
	params["sessionId"] = a.SessionID()
	result, err := a.request(ctx, methodFork, params)
	if err != nil {
		return "", err
	}
	var fork struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(result, &fork); err != nil || fork.SessionID == "" || fork.SessionID == a.SessionID() {
		return "", fmt.Errorf("%s: the answer names no other session", methodFork)
	}
	a.tap.stream.copies.Store(fork.SessionID, true)
	if a.can(func(o offers) bool { return o.close }) {
		_, err = a.request(ctx, methodClose, map[string]any{"sessionId": fork.SessionID})
	}
	return fork.SessionID, err
}

// Authenticate logs in by one of the agent's methods that need no terminal.
func (a *Agent) Authenticate(ctx context.Context, methodID string) error {
	_, err := a.request(ctx, methodAuthenticate, map[string]any{"methodId": methodID})
	return err
}

func (a *Agent) can(what func(offers) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return what(a.offers)
}
