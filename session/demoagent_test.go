package session_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/demoagent"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// demoRole is the environment variable that makes the test binary run as the demo
// agent.
const demoRole = "SESSION_TEST_DEMO"

func playDemo() int {
	err := demoagent.Run(context.Background(), os.Stdin, os.Stdout, demoagent.Options{StateDir: os.Getenv(demoRole)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// withDemoAgent uses the real demo agent, a process over a pipe.
func withDemoAgent(t *testing.T) hubOption {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	state := t.TempDir()
	hubID := "hub" + fmt.Sprint(os.Getpid()) // an agent's end ends all processes with its marker
	return func(o *session.Options, _ *store.Options) {
		o.Agents = []settings.Agent{{Name: "demo"}}
		o.ListPast = func(ctx context.Context, agent, workspace, folder, cursor string) (page session.PastPage, err error) {
			stored, err := acp.List(ctx, acp.Config{
				Name: agent, Command: []string{self}, Env: map[string]string{demoRole: state},
				Workspace: workspace, HubID: hubID, RunID: "run", SessionID: "list",
			}, folder, cursor)
			page.Next, page.LeftOut = stored.Next, stored.LeftOut
			for _, s := range stored.Sessions {
				page.Sessions = append(page.Sessions, session.PastSession{AgentSessionID: s.ID, Folder: s.Workspace, Title: s.Title, UpdatedAt: s.UpdatedAt})
			}
			return page, err
		}
		o.StartAgent = func(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
			a, err := acp.Start(ctx, acp.Config{
				Name: spec.Agent, Command: []string{self}, Env: map[string]string{demoRole: state},
				Workspace: spec.Workspace, HubID: hubID, RunID: "run", SessionID: spec.SessionID,
				Resume: spec.AgentSessionID, Adopt: spec.Adopt, ContextLost: spec.ContextLost, OpenBlob: spec.OpenBlob,
			}, sink)
			if err != nil {
				return nil, err
			}
			return a, nil
		}
	}
}

func say(t *testing.T, b *session.BackgroundSession, id, text string) {
	t.Helper()
	_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: id, Text: text, Actor: person("ann")})
	require.NoError(t, err)
}

func TestTheDemoAgentsTourRunsThroughASession(t *testing.T) {
	h := newHub(t, withDemoAgent(t))
	b := h.create()
	say(t, b, "tour", "Show me around.")
	s := await(t, b, "the request", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
	request := payloads[event.PermissionRequest](t, b)[0]
	_, err := answer(b, s.PendingPermissions[0], request.Options[0].OptionID, "phone")
	require.NoError(t, err)
	awaitIdle(t, b)
	requireLawful(t, b, true)
	require.Equal(t, event.StopEndTurn, payloads[event.TurnEnd](t, b)[0].StopReason)
	require.NotEmpty(t, payloads[event.Plan](t, b))
	require.NotEmpty(t, b.State().Commands.Commands)
	require.Equal(t, session.AgentReady, b.State().Agent.Status)
}

func TestABurstIsCompleteWhileOthersAnswerAndSwitchTheMode(t *testing.T) {
	const lines = 20_000
	h := newHub(t, withDemoAgent(t))
	b := h.create()
	say(t, b, "mode", "/markdown")
	awaitIdle(t, b)
	modes := b.State().Mode.Modes
	require.NotEmpty(t, modes)
	say(t, b, "burst", fmt.Sprintf("/burst %d", lines))
	var group sync.WaitGroup
	group.Go(func() {
		for n := range 10 {
			if err := b.SetMode(ctxOf(t), modes[n%len(modes)].ID, person("ann")); err != nil {
				t.Errorf("set mode: %v", err)
			}
			b.SetPresence(fmt.Sprint("tab", n), state.Presence{Activity: state.Viewing})
		}
	})
	group.Wait()
	awaitIdle(t, b)
	var got strings.Builder
	for _, e := range events(t, b) {
		p, err := e.Payload()
		require.NoError(t, err)
		if m, ok := p.(event.AgentMessage); ok && e.Turn == 2 {
			got.WriteString(string(m.Text))
		}
	}
	var want strings.Builder
	for n := range lines {
		fmt.Fprintf(&want, "%d\n", n+1)
	}
	require.Equal(t, want.String(), got.String())
	require.Equal(t, modes[9%len(modes)].ID, b.State().Mode.ModeID)
	requireLawful(t, b, true)
}

func TestADemoAgentKilledInMidTurnComesBackWithItsMemory(t *testing.T) {
	h := newHub(t, withDemoAgent(t))
	b := h.create()
	say(t, b, "first", "/markdown")
	awaitIdle(t, b)
	said := len(payloads[event.AgentMessage](t, b))
	say(t, b, "slow", "/slow 3600")
	await(t, b, "prompting", func(s session.State) bool { return s.Turn.State == session.TurnPrompting })
	pid := payloads[event.AgentStarted](t, b)[0].PID
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	awaitIdle(t, b)
	ends := payloads[event.TurnEnd](t, b)
	require.Equal(t, event.StopAgentExit, ends[1].StopReason)
	require.Equal(t, queue.Interrupted, func() queue.Outcome {
		r, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "slow", Text: "/slow 3600"})
		require.NoError(t, err)
		return r.Outcome
	}())
	await(t, b, "the restart", func(s session.State) bool { return s.Agent.Status == session.AgentReady })
	started := payloads[event.AgentStarted](t, b)
	require.Len(t, started, 2)
	require.NotEmpty(t, started[1].Resumed, "the agent did not resume its session")
	require.Empty(t, noted(t, b, "abide/context_lost"))
	again := 0
	for _, e := range events(t, b) {
		if e.Type == event.TypeAgentMessage && e.Turn == 1 {
			again++
		}
	}
	require.Equal(t, said, again, "the history was logged twice")
	say(t, b, "next", "/markdown")
	awaitIdle(t, b)
	requireLawful(t, b, true)
}

func noted(t *testing.T, b *session.BackgroundSession, method string) []event.Note {
	t.Helper()
	var list []event.Note
	for _, n := range payloads[event.Note](t, b) {
		if n.Method == method {
			list = append(list, n)
		}
	}
	return list
}

func TestAMissingProgramIsToldInTheSession(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) {
		o.StartAgent = func(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
			a, err := acp.Start(ctx, acp.Config{
				Name: spec.Agent, Command: []string{"/no/such/program"}, Workspace: spec.Workspace,
				HubID: "hub", RunID: "run", SessionID: spec.SessionID,
			}, sink)
			if err != nil {
				return nil, err
			}
			return a, nil
		}
	})
	b := h.create()
	say(t, b, "p", "hello")
	s := await(t, b, "failed", func(s session.State) bool { return s.Agent.Status == session.AgentFailed })
	require.Contains(t, s.Agent.Message, "/no/such/program")
	awaitIdle(t, b)
	require.Equal(t, "agent_start", payloads[event.Error](t, b)[0].Code)
	requireLawful(t, b, true)
}
