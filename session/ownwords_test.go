package session_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/store"
)

func TestATurnThatAPersonStopsIsCancelledHoweverTheAgentTakesIt(t *testing.T) {
	for name, end := range map[string]event.TurnEnd{
		"finished": {StopReason: event.StopEndTurn, Usage: json.RawMessage(`{"totalTokens":9}`)},
		"refused":  {StopReason: event.StopRefusal},
		"failed": {
			StopReason: event.StopInterrupted, Error: &event.Failure{Code: "agent_error", Message: "aborted"},
			Raw: json.RawMessage(`{"code":-32603,"message":"aborted"}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			b, a := h.busy()
			require.NoError(t, b.Cancel(ctxOf(t), person("ann")))
			end.PromptID = promptID(0)
			require.NoError(t, a.say(end))
			awaitIdle(t, b)
			got := payloads[event.TurnEnd](t, b)[0]
			require.Equal(t, event.StopCancelled, got.StopReason)
			require.Equal(t, "ann", got.By)
			require.Nil(t, got.Error)
			require.Equal(t, string(end.Usage), string(got.Usage))
			require.Contains(t, []string{`{"stopReason":"end_turn"}`, `{"stopReason":"refusal"}`, `{"code":-32603,"message":"aborted"}`}, string(got.Raw))
			require.Empty(t, payloads[event.TurnInterrupted](t, b))
		})
	}
}

func TestATurnThatAPersonStopsIsCancelledThoughItsAgentDies(t *testing.T) {
	for name, exit := range map[string]event.AgentExit{
		"with an error": {Reason: "exited", Code: ptr(9)},
		"by a signal":   {Reason: "killed", Signal: "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			b, a := h.busy()
			require.NoError(t, a.say(event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "make"}}))
			require.NoError(t, b.Cancel(ctxOf(t), person("ann")))
			a.die(exit)
			s := await(t, b, "ended", func(s session.State) bool {
				return s.Turn.State == session.TurnIdle && s.Agent.Status != session.AgentReady
			})
			require.Nil(t, s.Interruption)
			got := payloads[event.TurnEnd](t, b)[0]
			require.Equal(t, event.StopCancelled, got.StopReason)
			require.Equal(t, "ann", got.By)
			require.Equal(t, "agent_exit", got.Error.Code)
			require.Empty(t, payloads[event.TurnInterrupted](t, b))
			require.Equal(t, exit.Reason, payloads[event.AgentExit](t, b)[0].Reason)
			require.Equal(t, event.ToolFailed, payloads[event.ToolCallUpdate](t, b)[0].Status)
		})
	}
}

func TestACancelThatNoOneAskedForIsAnInterruption(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopCancelled))
	s := awaitIdle(t, b)
	require.NotNil(t, s.Interruption)
	require.Equal(t, event.CutCancelled, s.Interruption.Reason)
	end := payloads[event.TurnEnd](t, b)[0]
	require.Equal(t, event.StopInterrupted, end.StopReason)
	require.Equal(t, "The agent cancelled the turn by itself.", end.Error.Message)
}

// TestACancelAfterAQuestionThatWasNotAllowedIsNone has an agent that ends its turn as
// cancelled when a person rejects a call.
func TestACancelAfterAQuestionThatWasNotAllowedIsNone(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(event.PermissionRequest{PermissionID: "q", Title: "rm", Options: []event.PermissionOption{{OptionID: "no", Name: "No", Kind: event.RejectOnce}}}))
	await(t, b, "asked", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
	_, err := b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "q", OptionID: "no", Actor: person("ann")})
	require.NoError(t, err)
	require.NoError(t, a.end(promptID(0), event.StopCancelled))
	require.Nil(t, awaitIdle(t, b).Interruption)
	require.Equal(t, event.StopCancelled, payloads[event.TurnEnd](t, b)[0].StopReason)
}

func TestAStartThatFailsHasTheLastLinesOfStderr(t *testing.T) {
	h := newHub(t)
	h.agents.onStart = func(a *fakeAgent) error {
		a.die(event.AgentExit{Reason: "start_failed", StderrTail: "loading\nError: cannot find module x\n\n  at main.js:1\nNode.js v24\n"})
		<-a.over
		return errors.New("the agent ended with exit code 1")
	}
	b := h.create()
	prompt(t, b, promptID(0))
	s := await(t, b, "failed", func(s session.State) bool { return s.Agent.Status == session.AgentFailed })
	const words = "the agent fake could not be started: the agent ended with exit code 1. It wrote:\nError: cannot find module x\nat main.js:1\nNode.js v24"
	require.Equal(t, words, payloads[event.TurnEnd](t, b)[0].Error.Message)
	require.Contains(t, s.Agent.Message, words)
}

// TestAnExitInATurnSaysWhatIsWrong shows the cause, where there is one beside the exit code.
func TestAnExitInATurnSaysWhatIsWrong(t *testing.T) {
	for reason, words := range map[string]string{
		"stdout_closed": "the agent ended: it closed its standard output",
		"folder_gone":   "the agent ended: its folder does not exist",
		"exited":        "the agent ended by signal SIGTERM",
	} {
		h := newHub(t)
		b, a := h.busy()
		a.die(event.AgentExit{Reason: reason, Signal: "SIGTERM"})
		s := await(t, b, "interrupted", func(s session.State) bool { return s.Interruption != nil })
		require.Equal(t, words, payloads[event.TurnEnd](t, b)[0].Error.Message)
		require.Contains(t, s.Agent.Message, words)
	}
}

func TestAStartThatTakesLongSaysWhatTheAgentWrites(t *testing.T) {
	h := newHub(t)
	h.agents.hold = make(chan struct{})
	sinks := make(chan session.AgentSink, 1)
	h.agents.onHold = func(a *fakeAgent) { sinks <- a.sink }
	b := h.create()
	prompt(t, b, promptID(0))
	sink := receive(t, sinks, "not started")
	sink.Starting("npm: 1 of 3\n\nnpm: 2 of 3\n")
	s := await(t, b, "told", func(s session.State) bool { return s.Agent.Message != "" })
	require.Equal(t, session.AgentStarting, s.Agent.Status)
	require.Equal(t, "npm: 1 of 3\nnpm: 2 of 3", s.Agent.Message)
	close(h.agents.hold)
	s = await(t, b, "ready", func(s session.State) bool { return s.Agent.Status == session.AgentReady })
	require.Empty(t, s.Agent.Message)
	sink.Starting("late")
	a := receive(t, h.agents.started, "not ready")
	receive(t, a.prompts, "not given") // an end before that would be of no turn
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.Empty(t, awaitIdle(t, b).Agent.Message)
}

// TestAStartThatTakesTooLongEndsWithItsLimit has an agent that downloads for ever. The
// default is five minutes; start_limit is another.
func TestAStartThatTakesTooLongEndsWithItsLimit(t *testing.T) {
	for limit, bound := range map[time.Duration]time.Duration{0: 5 * time.Minute, 7 * time.Minute: 7 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			h := newHub(t, func(o *session.Options, _ *store.Options) {
				o.Agents = []settings.Agent{{Name: "fake", StartLimit: limit}}
			})
			h.agents.hold = make(chan struct{})
			sinks := make(chan session.AgentSink, 1)
			h.agents.onHold = func(a *fakeAgent) { sinks <- a.sink }
			h.agents.lastWords = "npm: 1 of 3\n"
			b := h.create()
			began := time.Now()
			prompt(t, b, promptID(0))
			receive(t, sinks, "not started").Starting("npm: 1 of 3\n")
			time.Sleep(bound - time.Second)
			synctest.Wait()
			s := b.State()
			require.Equal(t, session.AgentStarting, s.Agent.Status)
			require.Equal(t, "npm: 1 of 3", s.Agent.Message)
			s = await(t, b, "failed", func(s session.State) bool { return s.Agent.Status == session.AgentFailed })
			require.Equal(t, bound, time.Since(began))
			want := "the agent fake could not be started: it was not ready in " + bound.String() + ". It wrote:\nnpm: 1 of 3"
			require.Equal(t, want, payloads[event.TurnEnd](t, b)[0].Error.Message)
			require.Contains(t, s.Agent.Message, want)
			h.close()
		})
	}
}

func TestAPlannedStopPrintsNoStderr(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	h.agents.onStop = func(a *fakeAgent) { a.die(event.AgentExit{Reason: "stopped", StderrTail: "npm warn"}) }
	h.close()
	h.open()
	exits := payloads[event.AgentExit](t, h.session(b.ID()))
	require.Len(t, exits, 1)
	require.Empty(t, exits[0].StderrTail)
}

// TestANameIsToldToARunningAgent renames a session while its agent runs, and while none
// does.
func TestANameIsToldToARunningAgent(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	name := "Mine"
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &name}))
	require.Eventually(t, func() bool { return slices.Equal(a.wasTold(), []string{"title Mine"}) }, patience, tick)
	archived, none := true, ""
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &none}))
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Archived: &archived}))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	a.die(event.AgentExit{Reason: "exited"})
	await(t, b, "gone", func(s session.State) bool { return s.Agent.Status == session.AgentAbsent })
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &name}))
	require.Equal(t, []string{"title Mine"}, a.wasTold())
}
