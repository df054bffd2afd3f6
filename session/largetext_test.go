package session_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// The list says the same of a session with a large text before and after a restart.
func TestALargeTextReadsTheSameAfterARestart(t *testing.T) {
	h := newDiskHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(event.AgentMessage{MessageID: "m", Text: event.Text(strings.Repeat("q", 300<<10) + "\nthe last line")}))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	before := b.Info().LastLine
	require.NotEmpty(t, before)
	h.close()
	h.open()
	require.Equal(t, before, h.session(b.ID()).Info().LastLine)
	require.NotContains(t, before, "the last line", "the log has the beginning only")
}
