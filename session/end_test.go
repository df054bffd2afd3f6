package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestASessionEndsBetweenTurnsAndAPromptMakesItLiveAgain(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.ErrorIs(t, b.End(ctxOf(t), "done", person("ann")), state.ErrConflict)
	require.Empty(t, payloads[event.SessionEnd](t, b))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)

	require.NoError(t, b.End(ctxOf(t), "done", person("ann")))
	require.NoError(t, b.End(ctxOf(t), "again", person("bob")), "ending twice must succeed")
	require.Equal(t, []event.SessionEnd{{Reason: "done", By: "ann", ByID: "id-ann"}}, payloads[event.SessionEnd](t, b))
	status := func(want state.Status) func() bool {
		return func() bool { return b.Info().Status == want }
	}
	require.Eventually(t, status(state.StatusEnded), patience, time.Millisecond)
	await(t, b, "a stopped agent", func(s session.State) bool { return s.Agent.Status == session.AgentAbsent })
	require.Equal(t, state.StatusEnded, h.copyOf(t).session(b.ID()).Info().Status, "the status is lost after a restart")

	prompt(t, b, promptID(1))
	next := h.agents.next(t)
	require.Equal(t, promptID(1), receive(t, next.prompts, "no prompt").PromptID)
	require.Eventually(t, status(state.StatusRunning), patience, time.Millisecond)
	require.NoError(t, next.end(promptID(1), event.StopEndTurn))
	awaitIdle(t, b)
	require.Eventually(t, status(state.StatusIdle), patience, time.Millisecond)
	requireLawful(t, b, true)
}

// An ended session is over: its interruption is settled, and the hub resumes nothing.
func TestEndingSettlesAnInterruptionAndTheHubDoesNotResume(t *testing.T) {
	h := newDiskHub(t, holding)
	b, a := h.busy()
	a.die(crash)
	open := interruptionOf(t, b)
	require.NoError(t, b.End(ctxOf(t), "done", person("ann")))
	require.Equal(t, []event.InterruptionSettled{{InterruptionID: open.InterruptionID, Outcome: event.SettledDismissed, By: "ann", ByID: "id-ann"}},
		payloads[event.InterruptionSettled](t, b))
	require.Nil(t, b.State().Interruption)
	next := h.copyOf(t, resumesItself)
	require.Equal(t, state.StatusEnded, next.session(b.ID()).Info().Status)
	require.Empty(t, next.agents.started)
	requireLawful(t, b, true)

	// In a log of an older build the interruption of an ended session is open.
	log, err := h.store.Create(ctxOf(t), event.SessionStart{Agent: "fake", Workspace: h.workspace})
	require.NoError(t, err)
	for _, p := range []event.Payload{
		event.UserPrompt{PromptID: "p1", Text: "hi"}, event.TurnStart{PromptID: "p1"},
		event.TurnInterrupted{InterruptionID: "i1", Turn: 1, PromptID: "p1", Reason: event.CutHubRestart, Phase: event.PhaseStreaming, Checkpoint: event.Checkpoint{FromSeq: 2, ToSeq: 3}},
		event.TurnEnd{PromptID: "p1", StopReason: event.StopHubRestart}, event.SessionEnd{Reason: "done", By: "ann"},
	} {
		draft, err := event.NewDraft(p, 1, time.Now())
		require.NoError(t, err)
		_, _, err = log.Append(ctxOf(t), draft)
		require.NoError(t, err)
	}
	old := h.copyOf(t, resumesItself)
	ended := old.session(log.ID())
	require.NoError(t, ended.Restart(ctxOf(t), person("ann")))
	old.agents.next(t)
	await(t, ended, "the agent is there", func(s session.State) bool { return s.Agent.Status == session.AgentReady })
	require.Empty(t, payloads[event.InterruptionSettled](t, ended), "the hub resumed an ended session")
}

func TestEndingDropsTheQueueOnlyWhereThatWasSaid(t *testing.T) {
	h := newHub(t, holding)
	b, a := h.busy()
	require.Equal(t, queue.Queued, prompt(t, b, "q1").Outcome)
	require.ErrorIs(t, b.EndWith(ctxOf(t), session.Ending{Reason: "", DropQueue: true}, person("ann")), state.ErrConflict, "a turn is open")
	require.Len(t, b.Queue(), 1)
	a.die(crash)
	interruptionOf(t, b)
	err := b.End(ctxOf(t), "", person("ann"))
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "1 prompt waits in the queue")
	require.NoError(t, b.EndWith(ctxOf(t), session.Ending{Reason: "", DropQueue: true}, person("ann")))
	require.Empty(t, b.Queue())
	require.Equal(t, queue.Removed, prompt(t, b, "q1").Outcome)
	require.Equal(t, state.StatusEnded, b.Info().Status)
}
