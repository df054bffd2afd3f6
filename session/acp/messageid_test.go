package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// Messages without ids: a thought, a tool call and the end of a turn begin another one, and
// news beside the talk does not.
func TestMessagesWithoutIDsAreToldApart(t *testing.T) {
	s := newSink()
	cfg := config(t, "say")
	var lines []string
	for _, update := range []string{
		wasSaid("one, "), wasSaid("still one"),
		`{"sessionUpdate":"usage_update","used":1,"size":2}`, wasSaid(", and still"),
		`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`, wasSaid("two"),
		wasDone("t1"), wasSaid("three"),
	} {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, fakeSession, update))
	}
	cfg.Env["ACP_TEST_LINES"] = strings.Join(lines, "\n")
	a := start(t, cfg, s)
	turnOf(t, a, s, "say it")
	var whole []string
	last := ""
	for _, m := range of[event.AgentMessage](s) {
		if m.MessageID != last {
			whole = append(whole, "")
		}
		last = m.MessageID
		whole[len(whole)-1] += string(m.Text)
	}
	require.Equal(t, []string{"one, still one, and still", "two", "three"}, whole)
}
