package event_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

func TestTheWordsForAnEndHaveItsReason(t *testing.T) {
	for _, c := range []struct {
		reason       event.StopReason
		cut          event.InterruptReason
		message, say string
	}{
		{event.StopRefusal, "", "", "the turn ended: refusal"},
		{event.StopMaxTokens, "", "of\nwords", "the turn ended: max tokens: of words"},
		{event.StopInterrupted, "", "", "the turn ended: interrupted"},
		{event.StopInterrupted, "", "sign in first", "the turn failed: sign in first"},
		{event.StopAgentExit, "", "it did not start. It wrote: no key", "the turn failed: it did not start. It wrote: no key"},
		{event.StopInterrupted, event.CutProviderError, "overloaded", "Failed: the model's provider answered with an error. overloaded"},
		{event.StopInterrupted, event.CutPaused, "It starts in mode auto.", "Waiting for your choice: the turn has not begun. It starts in mode auto."},
		{event.StopInterrupted, event.CutCancelled, "The agent cancelled the turn by itself.", "Interrupted: the agent cancelled the turn by itself."},
		{event.StopAgentExit, event.CutAgentExit, "the agent ended with exit code 3", "Interrupted: the agent ended with exit code 3"},
		{event.StopAgentExit, event.CutAgentExit, "", "Interrupted: the agent ended."},
		{event.StopHubRestart, event.CutHubStop, "", "Interrupted: the hub was stopped."},
	} {
		end := event.TurnEnd{StopReason: c.reason}
		if c.message != "" {
			end.Error = &event.Failure{Message: c.message}
		}
		require.Equal(t, c.say, end.Words(c.cut))
	}
}
