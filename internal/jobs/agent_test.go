package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// cast starts agents without a process, which follow the lines of their prompts:
//
//	edit PATH      asks to edit a file, and edits it if it may
//	run COMMAND    asks to run a command
//	say TEXT       says it
//	use N          reports N tokens
//	pay N          reports that its session cost N USD
//	fail TEXT      ends the turn with an error of the model's provider
//	mode MODE      goes into a mode, and waits until it gets another, or for a cancel
//	branch B       switches to the new branch B
//	detach         leaves the branch
//	hold           waits for a cancel
//
// Each of the first two is a call of its own, and an answer of the model follows.
type cast struct {
	mu       sync.Mutex
	told     map[string]int // prompts by their text
	now      int            // agents that work
	most     int
	errors   int // provider errors before the first prompt that succeeds
	order    []string
	files    []event.Attachment // of the prompts
	locked   bool               // their modes cannot be set
	optional bool               // they have options
	silent   bool               // they hold with every prompt
}

func newCast() *cast { return &cast{told: map[string]int{}} }

type player struct {
	cast  *cast
	spec  session.AgentSpec
	sink  session.AgentSink
	words chan func()
	done  chan struct{}

	mu      sync.Mutex
	closed  bool
	answers chan event.PermissionOutcome
	cancels chan struct{}
	modes   chan struct{} // the mode was set
	asked   int
}

var errGone = errors.New("the agent is gone")

func (c *cast) start(_ context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	p := &player{
		cast: c, spec: spec, sink: sink, words: make(chan func(), 64), done: make(chan struct{}),
		answers: make(chan event.PermissionOutcome, 10), cancels: make(chan struct{}, 10), modes: make(chan struct{}, 100),
	}
	go func() { // ends with Stop
		defer close(p.done)
		for word := range p.words {
			word()
		}
	}()
	started := make(chan struct{})
	_ = p.do(func() {
		p.say(
			event.AgentStarted{Agent: spec.Agent, PID: 1, AgentSessionID: "own"},
			event.Mode{ModeID: "free", Modes: []event.ModeOption{{ID: "free", Name: "Free"}, {ID: "plan", Name: "Plan"}}},
		)
		if c.optional {
			p.say(config("effort", "low"))
		}
		close(started)
	})
	<-started
	return p, nil
}

func (p *player) do(word func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errGone
	}
	p.words <- word
	return nil
}

func (p *player) say(payloads ...event.Payload) {
	_ = p.sink.Record(context.Background(), payloads) // a session that is gone needs no words
}

// Prompt implements session.Agent.
func (p *player) Prompt(prompt event.UserPrompt) error { return p.do(func() { p.play(prompt) }) }

func (p *player) play(prompt event.UserPrompt) {
	c := p.cast
	c.mu.Lock()
	c.told[string(prompt.Text)]++
	c.order = append(c.order, string(prompt.Text))
	c.files = append(c.files, prompt.Attachments...)
	c.now++
	c.most = max(c.most, c.now)
	failing := c.errors > 0
	if failing {
		c.errors--
	}
	c.mu.Unlock()
	end := event.TurnEnd{PromptID: prompt.PromptID, StopReason: event.StopEndTurn}
	defer func() {
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
		p.say(end)
	}()
	if failing {
		end.StopReason, end.Error = event.StopInterrupted, &event.Failure{Code: "agent_error", Message: "overloaded"}
		return
	}
	lines := strings.Split(string(prompt.Text), "\n")
	if c.silent {
		lines = []string{"hold"}
	}
	for i, line := range lines {
		verb, arg, _ := strings.Cut(line, " ")
		said := event.AgentMessage{MessageID: fmt.Sprint("m", i), Text: event.Text(line)}
		switch verb {
		case "edit":
			if !p.call(i, "edit", map[string]any{"path": arg}, arg) {
				end.StopReason = event.StopCancelled
				return
			}
		case "run":
			if !p.call(i, "execute", map[string]any{"command": arg}) {
				end.StopReason = event.StopCancelled
				return
			}
		case "use":
			var n int64
			_, _ = fmt.Sscan(arg, &n)
			p.say(event.Usage{Used: n, Size: 1 << 20})
		case "pay":
			var amount float64
			_, _ = fmt.Sscan(arg, &amount)
			p.say(event.Usage{Used: 1, Size: 1 << 20, Cost: &event.Cost{Amount: amount, Currency: "USD"}})
		case "mode":
			p.say(event.Mode{ModeID: arg})
			select {
			case <-p.modes:
			case <-p.cancels:
				end.StopReason = event.StopCancelled
				return
			}
		case "branch":
			if err := exec.Command("git", "-C", p.spec.Workspace, "switch", "-q", "-c", arg).Run(); err != nil {
				said.Text = event.Text(err.Error())
			}
		case "detach":
			if err := exec.Command("git", "-C", p.spec.Workspace, "update-ref", "--no-deref", "HEAD", "HEAD^{}").Run(); err != nil {
				said.Text = event.Text(err.Error())
			}
		case "fail":
			end.StopReason, end.Error = event.StopInterrupted, &event.Failure{Code: "agent_error", Message: arg}
			return
		case "hold":
			<-p.cancels
			end.StopReason = event.StopCancelled
			return
		default:
			said.Text = event.Text(arg)
		}
		p.say(said)
	}
}

// call asks for a call, and makes it if it may. It is false if the turn was cancelled.
func (p *player) call(i int, kind event.ToolKind, input map[string]any, paths ...string) bool {
	p.asked++
	id := fmt.Sprintf("c%d", i)
	raw, _ := json.Marshal(map[string]any{"toolCallId": id, "kind": kind, "rawInput": input})
	fields := event.ToolCallFields{ToolCallID: id, Title: fmt.Sprint(kind, " ", input), Kind: kind, Status: event.ToolPending}
	for _, path := range paths {
		fields.Locations = append(fields.Locations, event.Location{Path: path})
	}
	p.say(event.ToolCall{ToolCallFields: fields}, event.PermissionRequest{
		PermissionID: fmt.Sprintf("%p-%d", p, p.asked), ToolCallID: id, Title: fields.Title, ToolCall: raw,
		Options: []event.PermissionOption{
			{OptionID: "yes", Name: "Yes", Kind: event.AllowOnce}, {OptionID: "no", Name: "No", Kind: event.RejectOnce},
		},
	})
	outcome := <-p.answers
	if outcome.Outcome == event.OutcomeCancelled {
		return false
	}
	fields.Status = event.ToolCompleted
	if outcome.OptionID != "yes" {
		fields.Status = event.ToolFailed
	} else if kind == "edit" {
		_ = os.WriteFile(filepath.Join(p.spec.Workspace, paths[0]), []byte("edited\n"), 0o644)
	}
	p.say(event.ToolCallUpdate{ToolCallFields: fields})
	return true
}

// Cancel implements session.Agent.
func (p *player) Cancel() error {
	p.cancels <- struct{}{}
	return nil
}

// Answer implements session.Agent.
func (p *player) Answer(o event.PermissionOutcome) error {
	p.answers <- o
	return nil
}

// SetMode implements session.Agent.
func (p *player) SetMode(_ context.Context, mode string, _ event.Actor) error {
	if p.cast.locked {
		return errors.New("the mode is locked")
	}
	p.say(event.Mode{ModeID: mode})
	p.modes <- struct{}{}
	return nil
}

// SetConfigOption implements session.Agent.
func (p *player) SetConfigOption(_ context.Context, id string, value any, _ event.Actor) error {
	p.say(config(id, value))
	return nil
}

// config are the player's options, of which one has a value.
func config(id string, value any) event.Config {
	values := map[string]any{"effort": "low", "web": false}
	values[id] = value
	raw, err := json.Marshal([]map[string]any{
		{"id": "effort", "name": "Effort", "type": "select", "currentValue": values["effort"], "options": []map[string]any{{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}}},
		{"id": "web", "name": "Web", "type": "boolean", "currentValue": values["web"]},
	})
	if err != nil {
		panic(err)
	}
	return event.Config{Options: raw}
}

// Stop implements session.Agent.
func (p *player) Stop(context.Context) error {
	p.mu.Lock()
	was := p.closed
	if !was {
		p.closed = true
		select {
		case p.cancels <- struct{}{}:
		default:
		}
		select {
		case p.answers <- event.PermissionOutcome{Outcome: event.OutcomeCancelled}:
		default:
		}
		p.words <- func() { p.say(event.AgentExit{Reason: "stopped"}) }
		close(p.words)
	}
	p.mu.Unlock()
	<-p.done
	return nil
}
