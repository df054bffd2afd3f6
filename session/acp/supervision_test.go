package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

func exitOf(t *testing.T, s *sink) event.AgentExit { return first[event.AgentExit](t, s) }

func TestTurnIsSettledThoughTheAgentExitsRightBehindItsAnswer(t *testing.T) {
	for range 20 {
		s := newSink()
		a := start(t, config(t, "exits"), s)
		require.NoError(t, a.Prompt(prompt("p", "hello")))
		require.Equal(t, event.StopEndTurn, ended(t, s, "p").StopReason)
		exit := exitOf(t, s)
		require.Equal(t, "exited", exit.Reason)
		require.Equal(t, 0, *exit.Code)
		require.Equal(t, "last words", message(s))
		<-a.Done()
		require.ErrorIs(t, a.Prompt(prompt("q", "more")), acp.ErrGone)
	}
}

func TestAnAgentHasNoTerminalToAskOn(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "tty"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	require.Equal(t, "leader true, open /dev/tty: no such device or address", message(s))
}

func TestAgentThatStopsReadingIsEndedAndBlocksNobody(t *testing.T) {
	said := prompt("p", strings.Repeat("more than a pipe holds ", 100_000))
	cfg := config(t, "deaf")
	cfg.Bounds.StdinStuck = time.Hour // longer than any test
	a := start(t, cfg, newSink())
	require.NoError(t, a.Prompt(said))
	require.NoError(t, a.Cancel())

	s := newSink()
	cfg = config(t, "deaf")
	cfg.Bounds.StdinStuck = time.Second
	a = start(t, cfg, s)
	require.NoError(t, a.Prompt(said))
	require.Equal(t, "stdin_stuck", exitOf(t, s).Reason)
}

func TestStopEndsAnAgentThatIgnoresEveryPoliteRequest(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "stubborn"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	first[event.AgentMessage](t, s)
	require.NoError(t, a.Stop(context.Background()))
	exit := exitOf(t, s)
	require.Equal(t, "SIGKILL", exit.Signal)
	require.Equal(t, "stopped", exit.Reason)
	require.NoError(t, a.Stop(context.Background()), "stopping twice is harmless")
}

func TestAYesToClosingIsNoEvent(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Stop(context.Background()))
	exitOf(t, s)
	require.Empty(t, of[event.Note](s), "the agent's exit reports it")
}

func TestStopGoesStraightToKillWhenItsContextEnds(t *testing.T) {
	s := newSink()
	cfg := config(t, "stubborn")
	cfg.Bounds.Cancel, cfg.Bounds.StdinClosed, cfg.Bounds.Terminated = time.Hour, time.Hour, time.Hour
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	first[event.AgentMessage](t, s)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.NoError(t, a.Stop(ctx))
	require.Equal(t, "SIGKILL", exitOf(t, s).Signal)
}

func TestPoliteAgentEndsWhenItsStdinCloses(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	cfg.Bounds.StdinClosed = waitFor // it exits by itself, at any speed
	a := start(t, cfg, s)
	require.NoError(t, a.Stop(context.Background()))
	exit := exitOf(t, s)
	require.Equal(t, "stopped", exit.Reason)
	require.Empty(t, exit.Signal)
	require.Equal(t, 0, *exit.Code, exit.StderrTail)
}

func TestCrashIsReportedWithItsCodeAndTheTailOfStderr(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Prompt(prompt("p", "/crash")))
	exit := exitOf(t, s)
	require.Equal(t, 3, *exit.Code)
	require.Equal(t, "exited", exit.Reason)
	require.Contains(t, exit.StderrTail, "crashing, as asked")
	require.Empty(t, of[event.TurnEnd](s), "the agent must not end the turn")
	<-a.Done()
}

func TestFault45LineOverTheCapEndsTheAgentInBoundedMemory(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "endless"), s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	require.Equal(t, "protocol", exitOf(t, s).Reason)
	runtime.ReadMemStats(&after)
	require.Equal(t, "before", message(s), "output before the line is lost")
	said := of[event.Error](s)
	require.Contains(t, said[len(said)-1].Message, "more than 32 MiB in one line")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), "the line was kept in memory")
}

func TestLineJustUnderTheCapIsKept(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	cfg.Limits.LineBytes = 2 << 20
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(prompt("p", "/big 1")))
	ended(t, s, "p")
	require.Len(t, message(s), 1<<20)
	require.NoError(t, a.Prompt(prompt("q", "/big 2")))
	require.Equal(t, "protocol", exitOf(t, s).Reason)
	<-a.Done()
}

func TestFault46NoiseOnStdoutIsSkippedAndReportedAtABoundedRate(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "flood"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	require.Equal(t, event.StopEndTurn, ended(t, s, "p").StopReason)
	require.Equal(t, "still here", message(s))
	require.NoError(t, a.Stop(context.Background()))
	<-a.Done()
	reports := of[event.Error](s)
	require.NotEmpty(t, reports)
	require.Less(t, len(reports), 20)
	require.Contains(t, reports[0].Detail, "INFO starting step 0")
	// Of 100,000 invalid lines and 6 more, 5 were reported.
	require.Contains(t, reports[len(reports)-1].Message, fmt.Sprint(100_006-5))
}

func TestFault43AgentThatNeverAnswersInitializeFailsToStartInTime(t *testing.T) {
	cfg := config(t, "mute")
	var exit event.AgentExit
	// The time to write the reason for the delay depends on the machine.
	for cfg.Bounds.Start = time.Second; exit.StderrTail == "" && cfg.Bounds.Start < waitFor; cfg.Bounds.Start *= 2 {
		s := newSink()
		_, err := acp.Start(context.Background(), cfg, s)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		payloads := s.all()
		require.Equal(t, []event.Type{event.TypeError, event.TypeAgentExit}, types(payloads))
		exit = payloads[1].(event.AgentExit)
		require.Equal(t, "start_failed", exit.Reason)
	}
	require.Contains(t, exit.StderrTail, "waiting for something")
	require.NotContains(t, exit.StderrTail, "abcdef123456", "secrets are redacted")
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	s := newSink()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the agent has begun by then
	defer cancel()
	_, err := acp.Start(ctx, config(t, "mute"), s)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, of[event.AgentExit](s), 1)
}

// Its caller gave it up: that is no error, and its exit says that it was stopped.
func TestAStartThatIsCancelledRecordsNoError(t *testing.T) {
	s := newSink()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Second, cancel)
	_, err := acp.Start(ctx, config(t, "mute"), s)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []event.Type{event.TypeAgentExit}, types(s.all()))
	require.Equal(t, "stopped", exitOf(t, s).Reason)
}

func TestMissingCommandIsAnErrorAndRecordsNothing(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	cfg.Command = []string{"no-such-agent-anywhere"}
	_, err := acp.Start(context.Background(), cfg, s)
	require.ErrorContains(t, err, "not found in PATH")
	cfg = config(t, "demo")
	cfg.Workspace = filepath.Join(t.TempDir(), "gone")
	_, err = acp.Start(context.Background(), cfg, s)
	require.EqualError(t, err, "its folder "+cfg.Workspace+" does not exist")
	require.Empty(t, s.all())
}

func TestInvalidConfigIsRefused(t *testing.T) {
	for name, change := range map[string]func(*acp.Config){
		"no command":         func(c *acp.Config) { c.Command = nil },
		"relative workspace": func(c *acp.Config) { c.Workspace = "here" },
		"no hub id":          func(c *acp.Config) { c.HubID = "" },
		"dotted run id":      func(c *acp.Config) { c.RunID = "1.2" },
		"name with =":        func(c *acp.Config) { c.Env = map[string]string{"A=B": "c"} },
	} {
		cfg := config(t, "demo")
		change(&cfg)
		_, err := acp.Start(context.Background(), cfg, newSink())
		require.ErrorIs(t, err, acp.ErrConfig, name)
	}
}

func TestPermissionIsRecordedWhereItStandsOnTheWireAndAnsweredOnlyWhenAPersonDoes(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "order"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	s.wait(t, "the last update", func(p event.Payload) bool {
		m, ok := p.(event.AgentMessage)
		return ok && m.Text == "499 " && len(of[event.AgentMessage](s)) == 1000
	})
	kinds := types(s.all())
	at := 0
	for kinds[at] != event.TypePermissionRequest {
		at++
	}
	updates := 0
	for _, kind := range kinds[:at] {
		if kind == event.TypeAgentMessage {
			updates++
		}
	}
	require.Equal(t, 500, updates, "the updates before the request must precede it in the log")
	require.Equal(t, event.TypeToolCallUpdate, kinds[at-1], "a call that only the request announces must be recorded")
	request := of[event.PermissionRequest](s)[0]
	require.Equal(t, "rm -rf /tmp/x", request.Title)
	require.Empty(t, of[event.TurnEnd](s))

	require.ErrorIs(t, a.Answer(event.PermissionOutcome{PermissionID: "p-unknown"}), acp.ErrNotOpen)
	answer := event.PermissionOutcome{PermissionID: request.PermissionID, Outcome: event.OutcomeSelected, OptionID: "b"}
	require.NoError(t, a.Answer(answer))
	require.ErrorIs(t, a.Answer(answer), acp.ErrNotOpen, "the first answer counts")
	ended(t, s, "p")
	require.JSONEq(t, `{"outcome":{"outcome":"selected","optionId":"b"}}`, strings.TrimPrefix(message(s), message(s)[:strings.Index(message(s), "{")]))
}

func TestEarlyOutputComesAfterTheStartOfTheSession(t *testing.T) {
	s := newSink()
	start(t, config(t, "early"), s)
	s.wait(t, "the late chunk", func(p event.Payload) bool { m, ok := p.(event.AgentMessage); return ok && m.Text == " late" })
	require.Equal(t, []event.Type{
		event.TypeAgentStarted, event.TypeMode, event.TypeNote, event.TypeAgentMessage, event.TypeNote, event.TypeError, event.TypeAgentMessage,
	}, types(s.all()))
	messages := of[event.AgentMessage](s)
	require.Equal(t, messages[0].MessageID, messages[1].MessageID, "chunks without an id that follow each other are one message")
	require.Len(t, of[event.Mode](s)[0].Modes, 2)
}

func TestFault50PermissionRequestsBeyondTheCapAreCancelled(t *testing.T) {
	s := newSink()
	cfg := config(t, "greedy")
	cfg.Limits.OpenPermissions = 8
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	require.Equal(t, "92", message(s))
	require.Len(t, of[event.PermissionRequest](s), 8)
	require.Len(t, of[event.Error](s), 1, "a flood must add one line to the log")
}

func TestWithdrawnPermissionIsSettledAsCancelled(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "withdraws"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	outcome := first[event.PermissionOutcome](t, s)
	require.Equal(t, event.OutcomeCancelled, outcome.Outcome)
	require.Equal(t, first[event.PermissionRequest](t, s).PermissionID, outcome.PermissionID)
	require.ErrorIs(t, a.Answer(event.PermissionOutcome{PermissionID: outcome.PermissionID}), acp.ErrNotOpen)
	require.Contains(t, message(s), "-32800")
}

func TestCancelEndsTheTurnAndTheNextOneWorks(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Cancel(), "a cancel without a turn must succeed")
	require.NoError(t, a.Prompt(prompt("p", "/burst 1000000")))
	require.ErrorIs(t, a.Prompt(prompt("q", "hello")), acp.ErrBusy)
	first[event.AgentMessage](t, s)
	require.NoError(t, a.Cancel())
	require.Equal(t, event.StopCancelled, ended(t, s, "p").StopReason)
	require.NoError(t, a.Prompt(prompt("q", "/markdown")))
	require.Equal(t, event.StopEndTurn, ended(t, s, "q").StopReason)
}

func TestCancelRightBehindThePromptIsNotLost(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	for i := range 20 {
		id := fmt.Sprint("p", i)
		require.NoError(t, a.Prompt(prompt(id, "/ask")))
		require.NoError(t, a.Cancel())
		require.Equal(t, event.StopCancelled, ended(t, s, id).StopReason)
	}
}

func TestUpdateBehindTheTurnsEndIsRecorded(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Prompt(prompt("p", "/late")))
	s.wait(t, "the late chunk", func(p event.Payload) bool {
		m, ok := p.(event.AgentMessage)
		return ok && m.Text == "This came late."
	})
	end, late := -1, -1
	for i, p := range s.all() {
		if p.EventType() == event.TypeTurnEnd {
			end = i
		}
		if m, ok := p.(event.AgentMessage); ok && m.Text == "This came late." {
			late = i
		}
	}
	require.GreaterOrEqual(t, end, 0)
	require.Greater(t, late, end)
}

func TestOutputIsNotReadWhileItCannotBeRecorded(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	gate := make(chan struct{})
	s.mu.Lock()
	s.block = gate
	s.mu.Unlock()
	require.NoError(t, a.Prompt(prompt("p", "/burst 30000")))
	var m1, m2 runtime.MemStats
	runtime.ReadMemStats(&m1)
	require.Never(t, func() bool { return len(of[event.AgentMessage](s)) > 0 }, 300*time.Millisecond, 50*time.Millisecond)
	runtime.ReadMemStats(&m2)
	require.Less(t, int64(m2.HeapAlloc)-int64(m1.HeapAlloc), int64(16<<20), "the hub buffered the output")
	s.mu.Lock()
	s.block = nil
	s.mu.Unlock()
	close(gate)
	ended(t, s, "p")
	require.Len(t, of[event.AgentMessage](s), 30_000)
}

func TestAgentIsEndedWhenNothingMoreIsTaken(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	s.mu.Lock()
	s.fail = fmt.Errorf("frozen")
	s.mu.Unlock()
	require.NoError(t, a.Prompt(prompt("p", "/slow 1")))
	<-a.Done()
	s.mu.Lock()
	s.fail = nil
	s.payloads = append(s.payloads, event.AgentExit{}) // finish requires it, and this sink does not record
	s.mu.Unlock()
}

func TestAgentSeesOnlyTheAllowListOfTheEnvironment(t *testing.T) {
	t.Setenv("ABIDE_SECRET", "hub-secret")
	t.Setenv("MY_TOKEN", "mine")
	t.Setenv("MY_OTHER", "other")
	t.Setenv("HTTPS_PROXY", "http://user:hunter2@proxy.example:8080")
	t.Setenv("http_proxy", "user:hunter2@proxy.example:8080")
	s := newSink()
	cfg := config(t, "environ")
	cfg.PassEnv = []string{"MY_OTHER"}
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	var env []string
	require.NoError(t, json.Unmarshal([]byte(message(s)), &env))
	joined := strings.Join(env, "\n")
	require.NotContains(t, joined, "hub-secret")
	require.NotContains(t, joined, "MY_TOKEN")
	require.NotContains(t, joined, "hunter2", "a proxy's password")
	require.Contains(t, joined, "HTTPS_PROXY=http://proxy.example:8080")
	require.Contains(t, joined, "http_proxy=proxy.example:8080")
	require.Contains(t, joined, "MY_OTHER=other")
	require.Contains(t, joined, "ABIDE_AGENT="+cfg.HubID+".1."+cfg.SessionID)
	require.Contains(t, joined, "PATH=")
}
