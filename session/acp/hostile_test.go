package acp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// playHostile sends valid lines with far too long values, invalid UTF-8, and
// permission requests without options and with a repeated option id.
func playHostile(f *fake) int {
	f.hello()
	p := f.prompt()
	long := strings.Repeat("x", 300<<10)
	update := func(body string) {
		f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{%s}}}`, fakeSession, body)
	}
	update(fmt.Sprintf(`"sessionUpdate":"tool_call","toolCallId":%q,"title":%q,"kind":%q,"status":"pending"`, long, long, long))
	update(fmt.Sprintf(`"sessionUpdate":"tool_call_update","toolCallId":%q,"status":"completed"`, long))
	update(`"sessionUpdate":"plan","entries":[` + strings.TrimSuffix(strings.Repeat(`{"content":"a","priority":"low","status":"pending"},`, 50_000), ",") + `]`)
	update("\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"caf\xe9\"}")
	f.line(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t"},"options":[]}}`, fakeSession)
	f.next()
	f.line(`{"jsonrpc":"2.0","id":8,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"a","name":"No","kind":"reject_once"}]}}`, fakeSession)
	f.done(p)
	f.next()
	return 0
}

func TestTextOnScreensIsShortAndTheRestIsKept(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "hostile"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")

	call, update := of[event.ToolCall](s)[0], of[event.ToolCallUpdate](s)[0]
	require.LessOrEqual(t, len(call.ToolCallID), 256)
	require.Equal(t, call.ToolCallID, update.ToolCallID, "a shortened id must stay the same")
	require.LessOrEqual(t, len(call.Title), 5<<10)
	require.True(t, strings.HasSuffix(call.Title, "…"))
	require.Empty(t, call.Kind)
	require.Greater(t, len(call.Raw), 900<<10, "the full values must be kept in raw")

	plan := of[event.Plan](s)[0]
	require.Len(t, plan.Entries, 1000)
	require.NotEmpty(t, plan.Raw)
}

func TestAStrayByteDoesNotCostTheLine(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "hostile"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	require.Equal(t, "caf", message(s), "the byte may begin a character that the next chunk continues")
	require.Contains(t, string(of[event.AgentMessage](s)[0].Raw), `caf\udce9`)
}

func TestAQuestionWithoutAnAnswerIsCancelledAndSaid(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "hostile"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	require.Len(t, of[event.PermissionRequest](s), 1)
	require.Len(t, of[event.PermissionRequest](s)[0].Options, 1, "of two options with one id only the first counts")
	require.Equal(t, "permission_without_options", of[event.Error](s)[0].Code)
}
