package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// puppet is an agent without a process, whose prompts are its script:
//
//	say N     N chunks of one message, then the end
//	alternate N  as say, but of two messages, two chunks of each at a time
//	big N     one message of N KiB, then the end
//	ask       a permission request; ends with its answer
//	offer     modes and models, then the end
//	use N     N tokens, and a cost
//	plan      a plan with one entry of each status, a command, and a file
//	hold      nothing until it is cancelled
//
// Anything else is answered with itself. One goroutine speaks into the sink, as
// the reader of a real agent does.
type puppet struct {
	sink  session.AgentSink
	words chan func()
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	prompt string
	asked  int
	cost   float64 // only the speaker uses it
	// unanswered counts the pending permission requests of the turn.
	unanswered int
	answers    []event.PermissionOutcome
}

var errPuppetGone = errors.New("puppet is gone")

func startPuppet(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	p := &puppet{sink: sink, words: make(chan func(), 64), done: make(chan struct{})}
	go func() { // ends with Stop, which the end of every session calls
		defer close(p.done)
		for word := range p.words {
			word()
		}
	}()
	started := make(chan struct{})
	p.do(func() {
		p.say(event.AgentStarted{
			Agent: spec.Agent, PID: 1, AgentSessionID: "puppet",
			Raw: json.RawMessage(`{"initialize":{"authMethods":[{"id":"browser","name":"In the browser"}]}}`),
		})
		close(started)
	})
	<-started
	return p, nil
}

func (p *puppet) do(word func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errPuppetGone
	}
	p.words <- word
	return nil
}

func (p *puppet) say(payloads ...event.Payload) { p.sink.Record(context.Background(), payloads) }

func (p *puppet) Prompt(prompt event.UserPrompt) error {
	p.mu.Lock()
	p.prompt = prompt.PromptID
	p.mu.Unlock()
	return p.do(func() { p.play(prompt) })
}

func (p *puppet) play(prompt event.UserPrompt) {
	verb, arg, _ := strings.Cut(string(prompt.Text), " ")
	n, _ := strconv.Atoi(arg)
	switch verb {
	case "say":
		const together = 10 // lines waiting in a pipe are read at once too
		for i := 0; i < n; i += together {
			var words []event.Payload
			for j := i; j < min(i+together, n); j++ {
				words = append(words, event.AgentMessage{MessageID: "m-" + prompt.PromptID, Text: event.Text(fmt.Sprintf("word %d ", j))})
			}
			p.say(words...)
		}
	case "alternate": // two messages in turns, two words each
		for i := range n {
			p.say(event.AgentMessage{MessageID: fmt.Sprint("m", i/2%2), Text: event.Text(fmt.Sprintf("word %d ", i))})
		}
	case "big":
		p.say(event.AgentMessage{MessageID: "m-" + prompt.PromptID, Text: event.Text(strings.Repeat("x", n<<10))})
	case "ask":
		n = max(n, 1) // permission requests, all at once
		p.mu.Lock()
		p.unanswered = n
		p.mu.Unlock()
		for range n {
			p.asked++
			p.say(event.PermissionRequest{
				PermissionID: fmt.Sprintf("perm-%d", p.asked), Title: "May I?",
				Options: []event.PermissionOption{
					{OptionID: "yes", Name: "Yes", Kind: event.AllowOnce}, {OptionID: "no", Name: "No", Kind: event.RejectOnce},
				},
				ToolCall: json.RawMessage(`{"toolCallId":"c1","rawInput":{"command":"make"}}`),
			})
		}
		return
	case "use": // so many tokens, for a thousandth of a dollar each
		p.cost += float64(n) / 1000
		p.say(
			event.Usage{Used: int64(n), Size: 200_000, Cost: &event.Cost{Amount: p.cost, Currency: "USD"}},
			event.TurnEnd{PromptID: prompt.PromptID, StopReason: event.StopEndTurn, Usage: fmt.Appendf(nil, `{"inputTokens":%d,"outputTokens":0,"totalTokens":%d}`, n, n)},
		)
		return
	case "plan":
		p.say(
			event.Plan{Entries: []event.PlanEntry{
				{Content: "Look around", Priority: "high", Status: event.PlanCompleted},
				{Content: "Write it", Priority: "high", Status: event.PlanInProgress},
				{Content: "Test it", Priority: "low", Status: event.PlanPending},
			}},
			event.ToolCall{ToolCallFields: event.ToolCallFields{
				ToolCallID: "t1", Title: "ls", Kind: "execute", Status: event.ToolCompleted,
				Content: json.RawMessage(`[{"type":"content","content":{"type":"text","text":"a.go\n"}}]`),
			}},
			event.FileWrite{Path: "/w/a.go", Bytes: 4, SHA256: strings.Repeat("5e", 32)},
			event.AgentMessage{MessageID: "m-" + prompt.PromptID, Text: "I wrote it."},
		)
	case "fail": // an error of the model's provider
		p.say(event.TurnEnd{PromptID: prompt.PromptID, StopReason: event.StopInterrupted, Error: &event.Failure{Code: "agent_error", Message: "overloaded"}})
		return
	case "offer":
		p.say(
			event.Mode{ModeID: "ask", Modes: []event.ModeOption{{ID: "ask", Name: "Ask"}, {ID: "auto", Name: "Auto"}}},
			event.Config{Options: json.RawMessage(`[{"id":"model","category":"model","currentValue":"big","options":[{"value":"big","name":"Big"}]}]`)},
		)
	case "hold":
		return
	default:
		p.say(event.AgentMessage{MessageID: "m-" + prompt.PromptID, Text: prompt.Text})
	}
	p.end(prompt.PromptID, event.StopEndTurn)
}

func (p *puppet) end(promptID string, reason event.StopReason) {
	p.say(event.TurnEnd{PromptID: promptID, StopReason: reason})
}

func (p *puppet) Cancel() error {
	p.mu.Lock()
	id := p.prompt
	p.mu.Unlock()
	return p.do(func() { p.end(id, event.StopCancelled) })
}

func (p *puppet) Answer(o event.PermissionOutcome) error {
	p.mu.Lock()
	id := p.prompt
	p.answers = append(p.answers, o)
	p.unanswered--
	more := p.unanswered > 0
	p.mu.Unlock()
	if o.Outcome == event.OutcomeCancelled || more {
		return nil
	}
	return p.do(func() { p.end(id, event.StopEndTurn) })
}

func (p *puppet) SetMode(_ context.Context, modeID string, by event.Actor) error {
	return p.do(func() { p.say(event.Mode{ModeID: modeID, By: by.Name, ByID: by.ID}) })
}

func (p *puppet) SetConfigOption(context.Context, string, any, event.Actor) error { return nil }

func (p *puppet) Stop(context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.words <- func() { p.say(event.AgentExit{Reason: "stopped"}) }
		close(p.words)
	}
	p.mu.Unlock()
	<-p.done
	return nil
}
