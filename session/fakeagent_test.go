package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// agents starts scripted agents and counts their prompts, across hubs.
type agents struct {
	// started receives every started agent.
	started chan *fakeAgent
	// resumable makes agents support resume.
	resumable bool
	// hello, if set, changes the agents' answer to initialize.
	hello func(*event.AgentStarted)
	// after is sent by agents right after that.
	after []event.Payload
	// refuses has the settings that agents do not take: mode, and ids of options.
	refuses map[string]bool
	// already, if set, is a mode that they are in although they report another.
	already string
	// deaf has those that agents seem to take and do not.
	deaf map[string]bool
	// forgotten counts the sessions that agents were asked to delete.
	forgotten atomic.Int32
	// hold, if set, blocks starts until it is closed.
	hold chan struct{}
	// lastWords is the stderr of an agent whose start is given up.
	lastWords string
	// onHold, if set, is called before that.
	onHold func(*fakeAgent)
	// onStart, if set, decides the result of a start.
	onStart func(*fakeAgent) error
	// onPrompt, if set, handles every prompt of every agent.
	onPrompt func(*fakeAgent, event.UserPrompt)
	// onFork, if set, copies agents' sessions.
	onFork func(a *fakeAgent, folder string) (string, error)
	// onCancel, if set, is called when an agent is to end its turn.
	onCancel func(*fakeAgent)
	// onStop, if set, is called first when an agent is stopped.
	onStop func(*fakeAgent)
	// stopping, if set, blocks stops until it is closed.
	stopping chan struct{}

	mu    sync.Mutex
	given map[string]int
	order []string
	live  map[string]int // running agents by workspace
	most  int            // maximum of agents running at once
	now   int
}

func newAgents() *agents {
	return &agents{started: make(chan *fakeAgent, 1000), given: map[string]int{}, live: map[string]int{}}
}

// fakeAgent is an agent without a process. One goroutine writes to the sink, like
// the reader of a real agent.
type fakeAgent struct {
	all     *agents
	spec    session.AgentSpec
	sink    session.AgentSink
	prompts chan event.UserPrompt
	answers chan event.PermissionOutcome
	cancels chan struct{}
	modes   chan string

	words chan func()
	over  chan struct{} // closed after the last event

	mu   sync.Mutex
	dead bool
	told []string // cancels, answers and settings in order
	said []event.Payload
}

// Fork implements session.Forker.
func (a *fakeAgent) Fork(_ context.Context, folder string) (string, error) {
	if a.all.onFork == nil {
		return "", errors.New("not offered")
	}
	return a.all.onFork(a, folder)
}

// SetTitle implements session.Titler.
func (a *fakeAgent) SetTitle(_ context.Context, title string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, "title "+title)
	return nil
}

// Forget implements session.Forgetter.
func (a *fakeAgent) Forget(context.Context) error {
	a.all.forgotten.Add(1)
	return nil
}

var errGone = errors.New("agent is gone")

func (f *agents) start(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	a := &fakeAgent{
		all: f, spec: spec, sink: sink,
		prompts: make(chan event.UserPrompt, 1000),
		answers: make(chan event.PermissionOutcome, 1000),
		cancels: make(chan struct{}, 1000),
		modes:   make(chan string, 1000),
		words:   make(chan func(), 10000),
		over:    make(chan struct{}),
	}
	f.mu.Lock()
	f.now++
	f.most = max(f.most, f.now)
	f.live[spec.SessionID]++
	if f.live[spec.SessionID] > 1 {
		panic("two agents live in one session")
	}
	f.mu.Unlock()
	go a.speak() // ends with the last event, which every test causes
	if f.hold != nil {
		if f.onHold != nil {
			f.onHold(a)
		}
		select {
		case <-f.hold:
		case <-ctx.Done():
			a.die(event.AgentExit{Reason: "start_failed", StderrTail: f.lastWords})
			<-a.over
			return nil, fmt.Errorf("initialize: no answer: %w", context.Cause(ctx))
		}
	}
	if f.onStart != nil {
		if err := f.onStart(a); err != nil {
			a.die(event.AgentExit{Reason: "start_failed"})
			<-a.over
			return nil, err
		}
	}
	hello := event.AgentStarted{Agent: spec.Agent, PID: 4711, Version: "1.0", AgentSessionID: "fake-" + spec.SessionID}
	if f.resumable {
		hello.Raw = json.RawMessage(`{"initialize":{"agentCapabilities":{"loadSession":true}},"session":{}}`)
		if spec.AgentSessionID != "" {
			hello.Resumed = event.ResumedByLoad
		}
	}
	if f.hello != nil {
		f.hello(&hello)
	}
	if err := a.say(append([]event.Payload{hello}, f.after...)...); err != nil {
		a.die(event.AgentExit{Reason: "start_failed"})
		<-a.over
		return nil, err
	}
	f.started <- a
	return a, nil
}

func (a *fakeAgent) speak() {
	for word := range a.words {
		word()
	}
	close(a.over)
}

// say sends events and waits until they are recorded.
func (a *fakeAgent) say(p ...event.Payload) error { return <-a.begin(p...) }

// begin sends events without waiting.
func (a *fakeAgent) begin(p ...event.Payload) <-chan error {
	done := make(chan error, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		done <- errGone
	} else {
		a.said = append(a.said, p...)
		a.words <- func() { done <- a.sink.Record(context.Background(), p) }
	}
	return done
}

// die sends the last event.
func (a *fakeAgent) die(exit event.AgentExit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		return
	}
	a.dead = true
	a.all.mu.Lock()
	a.all.now--
	a.all.live[a.spec.SessionID]--
	a.all.mu.Unlock()
	a.words <- func() { _ = a.sink.Record(context.Background(), []event.Payload{exit}) }
	close(a.words)
}

func (a *fakeAgent) Prompt(p event.UserPrompt) error {
	a.all.mu.Lock()
	a.all.given[p.PromptID]++
	a.all.order = append(a.all.order, p.PromptID)
	a.all.mu.Unlock()
	a.prompts <- p
	if a.all.onPrompt != nil {
		go a.all.onPrompt(a, p) // ends before the agent's last event
	}
	return nil
}

func (a *fakeAgent) Cancel() error {
	a.note("cancel")
	a.cancels <- struct{}{}
	if a.all.onCancel != nil {
		go a.all.onCancel(a) // ends before the agent's last event
	}
	return nil
}

func (a *fakeAgent) Answer(o event.PermissionOutcome) error {
	a.note(o.PermissionID)
	a.answers <- o
	return nil
}

func (a *fakeAgent) note(told string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, told)
}

func (a *fakeAgent) wasTold() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.told)
}

func (a *fakeAgent) SetMode(_ context.Context, id string, by event.Actor) error {
	if id == "impossible" || a.all.refuses["mode"] {
		return errors.New("unknown mode")
	}
	if id == a.all.already {
		return errors.New("already in that mode")
	}
	a.all.already = ""
	a.modes <- id
	a.note("mode " + id)
	if a.all.deaf["mode"] {
		return nil
	}
	return a.say(event.Mode{ModeID: id, By: by.Name, ByID: by.ID})
}

// SetConfigOption changes one of the options that the agent told last.
func (a *fakeAgent) SetConfigOption(_ context.Context, id string, value any, by event.Actor) error {
	if a.all.refuses[id] {
		return errors.New("it is locked")
	}
	a.note(fmt.Sprint(id, " ", value))
	if a.all.deaf[id] {
		return nil
	}
	options, found := a.options(), false
	for _, o := range options {
		if o["id"] == id {
			o["currentValue"], found = value, true
		}
	}
	if !found {
		options = append(options, map[string]any{"id": id, "currentValue": value})
	}
	encoded, err := json.Marshal(options)
	if err != nil {
		return err
	}
	return a.say(event.Config{Options: encoded, By: by.Name, ByID: by.ID})
}

// options are those that the agent told last, or at its start.
func (a *fakeAgent) options() (options []map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range append(slices.Clone(a.all.after), a.said...) {
		if c, is := p.(event.Config); is {
			options = nil
			_ = json.Unmarshal(c.Options, &options)
		}
	}
	return options
}

func (a *fakeAgent) Stop(ctx context.Context) error {
	if a.all.onStop != nil {
		a.all.onStop(a)
	}
	if a.all.stopping != nil {
		select {
		case <-a.all.stopping:
		case <-ctx.Done():
		}
	}
	a.die(event.AgentExit{Reason: "stopped"})
	return nil
}

// end settles the turn of the prompt, like the agent's response.
func (a *fakeAgent) end(promptID string, reason event.StopReason) error {
	return a.say(event.TurnEnd{PromptID: promptID, StopReason: reason})
}

func (f *agents) givenTimes(promptID string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.given[promptID]
}

// next waits for the next started agent.
func (f *agents) next(t *testing.T) *fakeAgent {
	t.Helper()
	return receive(t, f.started, "no agent was started")
}

func receive[T any](t *testing.T, ch <-chan T, otherwise string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.FailNow(t, otherwise)
		panic("unreachable")
	}
}

// patience is the time limit for something that should happen at once.
const patience = time.Minute

func toolCall(id string, status event.ToolStatus) event.ToolCall {
	return event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: id, Title: "Do " + id, Status: status}}
}

func toolUpdate(id string, status event.ToolStatus) event.ToolCallUpdate {
	return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: id, Status: status}}
}

func message(text string) event.AgentMessage {
	return event.AgentMessage{MessageID: "m1", Text: event.Text(text)}
}

func question(id string) event.PermissionRequest {
	return event.PermissionRequest{
		PermissionID: id, ToolCallID: "call-" + id, Title: "May I " + id + "?",
		Options: []event.PermissionOption{
			{OptionID: "yes", Name: "Yes", Kind: event.AllowOnce},
			{OptionID: "no", Name: "No", Kind: event.RejectOnce},
		},
	}
}

func promptID(n int) string { return fmt.Sprintf("prompt-%03d", n) }
