package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

func TestTourIsRecordedWholeAndItsPermissionIsAnswered(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Prompt(prompt("p1", "show me around")))
	asked := first[event.PermissionRequest](t, s)
	require.Empty(t, of[event.TurnEnd](s), "the agent waits for the answer")
	require.NoError(t, a.Answer(event.PermissionOutcome{
		PermissionID: asked.PermissionID, Outcome: event.OutcomeSelected, OptionID: asked.Options[0].OptionID,
	}))
	end := ended(t, s, "p1")
	require.Equal(t, event.StopEndTurn, end.StopReason)
	require.NotEmpty(t, end.Usage)
	seen := map[event.Type]bool{}
	for _, kind := range types(s.all()) {
		seen[kind] = true
	}
	for _, kind := range []event.Type{
		event.TypeAgentStarted, event.TypeCommands, event.TypeTitle, event.TypeAgentThought, event.TypePlan, event.TypeAgentMessage,
		event.TypeToolCall, event.TypeToolCallUpdate, event.TypePermissionRequest, event.TypeUsage, event.TypeTurnEnd,
	} {
		require.True(t, seen[kind], "the tour lacks %s", kind)
	}
	require.Contains(t, message(s), "With your permission I wrote `GREETING.md`")
}

func TestBurstArrivesCompleteAndInOrder(t *testing.T) {
	const n = 20_000
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Prompt(prompt("p1", fmt.Sprintf("/burst %d", n))))
	ended(t, s, "p1")
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%d\n", i+1)
	}
	require.Equal(t, want.String(), message(s))
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Less(t, s.batches, n/2, "available lines must be recorded together")
}
