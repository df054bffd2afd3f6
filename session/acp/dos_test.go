package acp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// An agent of another system begins with a mark of the byte order and ends its lines
// with CR LF: no line of it is noise.
func TestLinesOfAnotherSystemAreRead(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "dos"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	require.Equal(t, event.StopEndTurn, ended(t, s, "p").StopReason)
	require.Equal(t, "first\r\nsecond", message(s))
	require.Equal(t, []event.Type{event.TypeAgentStarted, event.TypeAgentMessage, event.TypeTurnEnd}, types(s.all()))
}

func TestAnOnlookerReadsLinesOfAnotherSystem(t *testing.T) {
	o := acp.NewOnlooker("other", "editor")
	require.Empty(t, o.FromClient([]byte("\ufeff"+`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)))
	got := o.FromAgent([]byte("\ufeff" + `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}` + "\r"))
	require.Equal(t, []event.Type{event.TypeAgentStarted}, types(got))
}
