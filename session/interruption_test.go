package session_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// holding makes the queue wait after an interruption, which is the default.
func holding(o *session.Options, _ *store.Options) { o.Queue.ContinueInterrupted = false }

// interruptionOf waits until the session has an interruption.
func interruptionOf(t *testing.T, b *session.BackgroundSession) state.Interruption {
	t.Helper()
	return *await(t, b, "interrupted", func(s session.State) bool { return s.Interruption != nil }).Interruption
}

func TestEachInterruptionTellsItsReasonAndPhase(t *testing.T) {
	child := toolCall("child", event.ToolInProgress)
	child.Raw = json.RawMessage(`{"_meta":{"claudeCode":{"parentToolUseId":"t1"}}}`)
	failure := &event.Failure{Code: "agent_error", Message: "overloaded"}
	for name, c := range map[string]struct {
		said   []event.Payload
		cut    func(h *hub, b *session.BackgroundSession, a *fakeAgent)
		reason event.InterruptReason
		phase  event.TurnPhase
	}{
		"the agent is killed while it says something": {
			[]event.Payload{event.AgentMessage{MessageID: "m", Text: "I shall"}},
			func(_ *hub, _ *session.BackgroundSession, a *fakeAgent) { a.die(crash) }, event.CutAgentExit, event.PhaseStreaming,
		},
		"the agent is killed while a tool runs": {
			[]event.Payload{toolCall("t1", event.ToolInProgress)},
			func(_ *hub, _ *session.BackgroundSession, a *fakeAgent) { a.die(crash) }, event.CutAgentExit, event.PhaseTools,
		},
		"the agent is restarted while a sub-agent is at work": {
			[]event.Payload{toolCall("t1", event.ToolInProgress), child},
			func(h *hub, b *session.BackgroundSession, _ *fakeAgent) {
				require.NoError(h.t, b.Restart(ctxOf(h.t), person("ann")))
			},
			event.CutAgentRestart, event.PhaseDelegating,
		},
		"the provider fails": {
			[]event.Payload{toolCall("t1", event.ToolCompleted), event.TurnEnd{PromptID: promptID(0), StopReason: event.StopInterrupted, Error: failure}},
			func(*hub, *session.BackgroundSession, *fakeAgent) {}, event.CutProviderError, event.PhaseStreaming,
		},
		"the hub is stopped": {
			[]event.Payload{toolCall("t1", event.ToolInProgress)},
			func(h *hub, _ *session.BackgroundSession, _ *fakeAgent) { h.close(); h.open(holding) }, event.CutHubStop, event.PhaseTools,
		},
		"the hub is stopped and the agent answers that its turn is cancelled": {
			[]event.Payload{event.AgentMessage{MessageID: "m", Text: "I shall"}},
			func(h *hub, _ *session.BackgroundSession, _ *fakeAgent) {
				h.agents.onStop = func(a *fakeAgent) { _ = a.end(promptID(0), event.StopCancelled) }
				h.close()
				h.open(holding)
			},
			event.CutHubStop, event.PhaseStreaming,
		},
		"the hub is stopped and the agent, whose question is lost, calls its end a normal one": {
			[]event.Payload{question("q1")},
			func(h *hub, _ *session.BackgroundSession, _ *fakeAgent) {
				h.agents.onStop = func(a *fakeAgent) { _ = a.end(promptID(0), event.StopEndTurn) }
				h.close()
				h.open(holding)
			},
			event.CutHubStop, event.PhaseTools,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, holding)
			b, a := h.busy()
			require.NoError(t, a.say(c.said...))
			c.cut(h, b, a)
			b = h.session(b.ID())
			got := interruptionOf(t, b)
			require.Equal(t, c.reason, got.Reason)
			require.Equal(t, c.phase, got.Phase)
			require.Eventually(t, func() bool { return b.Info().Status == state.StatusInterrupted }, patience, time.Millisecond)
			shape := shape(t, b)
			require.Equal(t, "turn_interrupted/1", shape[got.AtSeq-1])
			require.Contains(t, shape[got.AtSeq], "turn_end")
		})
	}
}

func TestAPersonsEndOfATurnIsNoInterruption(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	require.NoError(t, b.ForceReset(ctxOf(t), person("ann")))
	awaitIdle(t, b)
	require.Nil(t, b.State().Interruption)

	b, a := h.busy()
	require.NoError(t, b.Cancel(ctxOf(t), person("ann")))
	a.die(crash)
	awaitIdle(t, b)
	require.Nil(t, b.State().Interruption)
}

func TestAfterAnInterruptionTheQueueWaitsForAPersonAlsoAcrossARestart(t *testing.T) {
	h := newHub(t, holding)
	b, _ := h.busy()
	prompt(t, b, "waits")
	after := h.copyOf(t, holding)
	b = after.session(b.ID())
	require.Equal(t, event.CutHubRestart, interruptionOf(t, b).Reason)
	require.True(t, interruptionOf(t, b).Held)
	require.Len(t, b.Queue(), 1)

	prompt(t, b, "sent") // it is queued after the waiting prompt and releases both
	a := <-after.agents.started
	require.Equal(t, "waits", (<-a.prompts).PromptID)
	require.NoError(t, a.say(event.TurnEnd{PromptID: "waits", StopReason: event.StopEndTurn}))
	require.Equal(t, "sent", (<-a.prompts).PromptID)
	require.Nil(t, b.State().Interruption)
	require.Contains(t, shape(t, b), "interruption_settled/1")
}

func TestAPromptSupersedesAnInterruption(t *testing.T) {
	h := newHub(t, holding)
	b, a := h.busy()
	a.die(crash)
	id := interruptionOf(t, b).InterruptionID
	prompt(t, b, "other")
	require.Nil(t, b.State().Interruption)
	var settled event.InterruptionSettled
	for _, e := range events(t, b) {
		if p, err := e.Payload(); err == nil && e.Type == event.TypeInterruptionSettled {
			settled = p.(event.InterruptionSettled)
		}
	}
	require.Equal(t, event.InterruptionSettled{InterruptionID: id, Outcome: event.SettledSuperseded, PromptID: "other", By: "ann", ByID: "id-ann"}, settled)
}

func TestASessionWhoseAgentWantsALoginNeedsAPersonAcrossRestarts(t *testing.T) {
	h := newHub(t)
	h.agents.onStart = func(*fakeAgent) error {
		return &session.LoginNeeded{Err: errors.New("log in first"), Methods: []session.AuthMethod{{MethodID: "key"}}}
	}
	b := h.create()
	prompt(t, b, "first")
	await(t, b, "wanting a login", func(s session.State) bool { return len(s.Agent.AuthMethods) > 0 })
	require.Eventually(t, func() bool { return b.Info().Status == state.StatusNeedsYou }, patience, time.Millisecond)
	h.close()
	h.open()
	b = h.session(b.ID())
	require.Eventually(t, func() bool { return b.Info().Status == state.StatusNeedsYou }, patience, time.Millisecond)
}

// A hub that was down past stale_after has a stale interruption: its age counts from the
// turn's last event.
func TestAnInterruptionIsAsOldAsTheLastEventOfItsTurn(t *testing.T) {
	h := newDiskHub(t, clean)
	log, err := h.store.Create(ctxOf(t), event.SessionStart{Agent: "fake", Workspace: h.workspace})
	require.NoError(t, err)
	last := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	for i, p := range []event.Payload{event.UserPrompt{PromptID: "p1", Text: "hi"}, event.TurnStart{PromptID: "p1"}, message("a word")} {
		draft, err := event.NewDraft(p, 1, last.Add(time.Duration(i-2)*time.Minute))
		require.NoError(t, err)
		_, _, err = log.Append(ctxOf(t), draft)
		require.NoError(t, err)
	}
	note, err := event.NewDraft(event.Note{Method: "elsewhere"}, 0, time.Now()) // of no turn
	require.NoError(t, err)
	_, _, err = log.Append(ctxOf(t), note)
	require.NoError(t, err)
	next := h.copyOf(t, clean)
	b := next.session(log.ID())
	open := interruptionOf(t, b)
	offer, err := b.Interruption(ctxOf(t))
	require.NoError(t, err)
	require.Equal(t, last, offer.Since())
	require.True(t, offer.Stale)
	require.InDelta(t, time.Hour, offer.Age, float64(time.Minute))
	_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Actor: person("ann")})
	var needs *resume.NeedsConfirmation
	require.ErrorAs(t, err, &needs)
	require.Equal(t, []string{"stale"}, needs.Needs)
	_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Actor: person("ann"), Confirm: []string{"stale"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return next.manager.ResumeCounts().MedianMS >= time.Hour.Milliseconds() }, patience, time.Millisecond)
}
