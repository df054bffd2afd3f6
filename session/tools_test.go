package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// toolTurns returns the turn of each event about one tool call, in log order.
func toolTurns(all []event.Event) []int {
	var turns []int
	for _, e := range all {
		if e.Type == event.TypeToolCall || e.Type == event.TypeToolCallUpdate {
			turns = append(turns, e.Turn)
		}
	}
	return turns
}

func TestALateUpdateBelongsToTheTurnOfItsToolCall(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	prompt(t, b, promptID(1))
	receive(t, a.prompts, "the second prompt was not given")
	require.NoError(t, a.say(toolUpdate("t1", event.ToolCompleted)))
	require.Equal(t, []int{1, 1}, toolTurns(events(t, b)))
}

func TestAnIdThatComesAgainInALaterTurnIsAnotherToolCall(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolCompleted)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	prompt(t, b, promptID(1))
	receive(t, a.prompts, "the second prompt was not given")
	require.NoError(t, a.say(toolCall("t1", event.ToolPending), toolUpdate("t1", event.ToolCompleted)))
	require.Equal(t, []int{1, 2, 2}, toolTurns(events(t, b)))
}

func TestAnAgentThatBeginsAnewCountsItsToolCallsAnew(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolCompleted)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	a.die(event.AgentExit{Reason: "crashed"})
	<-a.over
	prompt(t, b, promptID(1))
	second := h.agents.next(t)
	receive(t, second.prompts, "the second prompt was not given")
	// Some agents send an update without announcing the call.
	require.NoError(t, second.say(toolUpdate("t1", event.ToolPending)))
	require.Equal(t, []int{1, 2}, toolTurns(events(t, b)))
}
