package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// waitFor is the time limit of one step.
const waitFor = time.Minute

// sink keeps the agent's events, and answers permission requests on demand.
type sink struct {
	mu       sync.Mutex
	payloads []event.Payload
	batches  int
	changed  chan struct{}
	// block, if set, blocks every Record until it is closed.
	block chan struct{}
	fail  error
	past  bool // it takes the past of an adopted session
	// onRecord is called with each recorded batch.
	onRecord func([]event.Payload)
}

func newSink() *sink { return &sink{changed: make(chan struct{})} }

func (s *sink) Record(_ context.Context, payloads []event.Payload) error {
	s.mu.Lock()
	block, fail := s.block, s.fail
	s.mu.Unlock()
	if block != nil {
		<-block
	}
	if fail != nil {
		return fail
	}
	s.mu.Lock()
	s.payloads = append(s.payloads, payloads...)
	s.batches++
	close(s.changed)
	s.changed = make(chan struct{})
	then := s.onRecord
	s.mu.Unlock()
	if then != nil {
		then(payloads)
	}
	return nil
}

func (s *sink) all() []event.Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]event.Payload(nil), s.payloads...)
}

// wait returns the first payload for which is returns true. It waits for it, but not
// longer than the agent lives.
func (s *sink) wait(t testing.TB, what string, is func(event.Payload) bool) event.Payload {
	t.Helper()
	deadline := time.After(waitFor)
	looked := 0
	for {
		s.mu.Lock()
		changed, payloads := s.changed, s.payloads
		s.mu.Unlock()
		for ; looked < len(payloads); looked++ {
			if is(payloads[looked]) {
				return payloads[looked]
			}
		}
		if len(payloads) > 0 && payloads[len(payloads)-1].EventType() == event.TypeAgentExit {
			require.Failf(t, "the agent has exited", "%s never came; got %s", what, describe(payloads))
		}
		select {
		case <-changed:
		case <-deadline:
			require.Failf(t, "never came", "%s; got %s", what, describe(payloads))
		}
	}
}

// first waits for the first payload of type P.
func first[P event.Payload](t *testing.T, s *sink) P {
	t.Helper()
	var zero P
	return s.wait(t, string(zero.EventType()), func(p event.Payload) bool { _, ok := p.(P); return ok }).(P)
}

// of returns the payloads of type P.
func of[P event.Payload](s *sink) []P {
	var out []P
	for _, p := range s.all() {
		if q, ok := p.(P); ok {
			out = append(out, q)
		}
	}
	return out
}

func types(payloads []event.Payload) []event.Type {
	out := make([]event.Type, len(payloads))
	for i, p := range payloads {
		out[i] = p.EventType()
	}
	return out
}

func describe(payloads []event.Payload) string {
	text := ""
	for _, p := range payloads[max(0, len(payloads)-20):] {
		data, _ := json.Marshal(p)
		text += fmt.Sprintf("\n  %s %.300s", p.EventType(), data)
	}
	return text
}

// config configures the test binary as an agent with the role.
func config(t testing.TB, role string) acp.Config {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return acp.Config{
		Name: "test", Command: []string{self}, Workspace: t.TempDir(),
		// Without this, the race detector would delay each exit by a second.
		Env:   map[string]string{roleName: role, "ACP_TEST_STATE": t.TempDir(), "GORACE": "atexit_sleep_ms=0"},
		HubID: "testhub" + fmt.Sprint(os.Getpid()), RunID: "1", SessionID: "20260101-000000-" + t.Name(),
		Bounds: acp.Bounds{
			Cancel: 300 * time.Millisecond, StdinClosed: 300 * time.Millisecond, Terminated: 300 * time.Millisecond,
			Drain: 100 * time.Millisecond,
		},
	}
}

// beside returns the config of another session's agent.
func beside(cfg acp.Config) acp.Config {
	cfg.SessionID += "-beside"
	return cfg
}

// start starts an agent. When the test ends, it requires that the agent is gone and
// its exit is recorded.
func start(t *testing.T, cfg acp.Config, s *sink) *acp.Agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	a, err := acp.Start(ctx, cfg, s)
	require.NoError(t, err)
	t.Cleanup(func() { finish(t, a, s) })
	return a
}

// finish stops the agent and checks the invariants of its event stream.
func finish(t *testing.T, a *acp.Agent, s *sink) {
	ctx, cancel := context.WithTimeout(context.Background(), waitFor)
	defer cancel()
	require.NoError(t, a.Stop(ctx))
	select {
	case <-a.Done():
	case <-ctx.Done():
		require.Fail(t, "the stream never ended")
	}
	payloads := s.all()
	if !s.past {
		require.IsType(t, event.AgentStarted{}, payloads[0], "a stream begins with agent_started")
	}
	require.Len(t, of[event.AgentStarted](s), 1)
	require.IsType(t, event.AgentExit{}, payloads[len(payloads)-1], "a stream ends with agent_exit")
	require.Len(t, of[event.AgentExit](s), 1)
}

func prompt(id, text string) event.UserPrompt {
	return event.UserPrompt{PromptID: id, Text: event.Text(text)}
}

// ended waits for the end of the prompt's turn.
func ended(t testing.TB, s *sink, promptID string) event.TurnEnd {
	t.Helper()
	return s.wait(t, "the end of turn "+promptID, func(p event.Payload) bool {
		end, ok := p.(event.TurnEnd)
		return ok && end.PromptID == promptID
	}).(event.TurnEnd)
}

// message joins the chunks of all messages.
func message(s *sink) string {
	text := ""
	for _, m := range of[event.AgentMessage](s) {
		text += string(m.Text)
	}
	return text
}

// endProcess kills a process that a test left running on purpose.
func endProcess(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	process, err := os.FindProcess(n)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
}
