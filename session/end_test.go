package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
