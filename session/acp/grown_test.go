package acp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// updateLine is an update of the agent, as it would write it.
func updateLine(t *testing.T, update map[string]any) []byte {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s", "update": update},
	})
	require.NoError(t, err)
	return line
}

func textContent(text string) []any {
	return []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": text}}}
}

func toolUpdate(t *testing.T, id, text string, more map[string]any) []byte {
	update := map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "content": textContent(text)}
	for name, value := range more {
		update[name] = value
	}
	return updateLine(t, update)
}

func said(c *acp.Conversation, lines ...[]byte) string {
	var all []string
	for _, line := range lines {
		all = append(all, c.Said(line)...)
	}
	return strings.Join(all, "\n")
}

func TestAContentThatGrowsIsRecordedAsWhatWasAdded(t *testing.T) {
	running := map[string]any{"status": "in_progress"}
	require.Equal(t, strings.Join([]string{
		`tool_call_update {"tool_call_id":"c","status":"in_progress","content":[{"content":{"text":"one\n","type":"text"},"type":"content"}]}`,
		`tool_call_update {"tool_call_id":"c","content_added":"two\n"}`,
		`tool_call_update {"tool_call_id":"d","content":[{"content":{"text":"one\n","type":"text"},"type":"content"}]}`,
		`tool_call_update {"tool_call_id":"c","content_added":"three 🙂"}`,
		`tool_call_update {"tool_call_id":"c","content":[{"content":{"text":"other","type":"text"},"type":"content"}]}`,
		`tool_call_update {"tool_call_id":"c","content_added":"s","raw":{"_meta":{"a":1},"sessionUpdate":"tool_call_update","toolCallId":"c"}}`,
		`tool_call_update {"tool_call_id":"c","status":"completed","content":[{"content":{"text":"others.","type":"text"},"type":"content"}]}`,
	}, "\n"), said(acp.NewConversation("", true),
		toolUpdate(t, "c", "one\n", running),
		toolUpdate(t, "c", "one\ntwo\n", running),
		toolUpdate(t, "d", "one\n", nil),
		toolUpdate(t, "c", "one\ntwo\nthree 🙂", running),
		toolUpdate(t, "c", "other", nil),
		toolUpdate(t, "c", "others", map[string]any{"_meta": map[string]any{"a": 1}}),
		toolUpdate(t, "c", "others.", map[string]any{"status": "completed"}),
	))
}

func TestTheFirstContentOfATurnIsRecordedWhole(t *testing.T) {
	c := acp.NewConversation("", true)
	c.Sent([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`))
	require.Contains(t, said(c, toolUpdate(t, "c", "one", nil), toolUpdate(t, "c", "one two", nil)), `"content_added":" two"`)
	said(c, []byte(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`))
	require.Contains(t, said(c, toolUpdate(t, "c", "one two three", nil)), `"text":"one two three"`)
	announced := updateLine(t, map[string]any{"sessionUpdate": "tool_call", "toolCallId": "c", "content": textContent("one two three four")})
	require.Contains(t, said(c, announced), `"text":"one two three four"`)
}

// TestACharacterThatIsCutBetweenChunksIsWhole cuts at a unit of UTF-16, as JavaScript does, and at a byte.
func TestACharacterThatIsCutBetweenChunksIsWhole(t *testing.T) {
	chunk := func(quoted string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":%s}}}}`, quoted)
	}
	output := func(quoted string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output":{"terminal_id":"t","data":%s}}}}}`, quoted)
	}
	smile := "🙂"
	for _, cut := range [][]string{
		{`"a\ud83d"`, `"\ude42b"`},
		{`"a` + smile[:1] + `"`, `"` + smile[1:] + `b"`},
		{`"a` + smile[:3] + `"`, `"` + smile[3:] + `b"`},
		{`"a` + smile[:1] + `"`, `"` + smile[1:2] + `"`, `"` + smile[2:] + `b"`},
	} {
		for kind, line := range map[string]func(string) []byte{"text": chunk, "data": output} {
			c := acp.NewConversation("", true)
			text := ""
			for i, part := range cut {
				if i > 0 { // another text may come between
					said(c, updateLine(t, map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": "other", "content": map[string]any{"type": "text", "text": "x"}}))
				}
				for _, e := range c.Said(line(part)) {
					var data map[string]any
					require.NoError(t, json.Unmarshal([]byte(e[strings.Index(e, "{"):]), &data))
					piece, _ := data[kind].(string)
					text += piece
				}
			}
			require.Equal(t, "a"+smile+"b", text, "%q %s", cut, kind)
		}
	}
}

func TestHalfACharacterThatNothingContinuesIsAReplacement(t *testing.T) {
	line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"%s"}}}}`
	for _, text := range []string{"a\xffb", `\\ud83d`, `a\\ud83d`, `a\ude42`} {
		c := acp.NewConversation("", true)
		events := c.Said([]byte(strings.Replace(line, "%s", text, 1)))
		require.Len(t, events, 1)
		require.NotContains(t, events[0], `"code":"agent_output"`)
		require.Contains(t, events[0], `"text":"`)
	}
	c := acp.NewConversation("", true)
	require.Contains(t, said(c, []byte(strings.Replace(line, "%s", `a\ud83d`, 1)), []byte(strings.Replace(line, "%s", `b`, 1))), `"text":"�b"`)
}

func TestACompletedElicitationClosesItsQuestion(t *testing.T) {
	c := acp.NewConversation("", true)
	asked := said(c, []byte(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"sessionId":"s","mode":"url","elicitationId":"e","url":"https://example.invalid","message":"Sign in"}}`))
	require.Contains(t, asked, `permission_request {"permission_id":"p-1"`)
	require.Equal(t, `permission_outcome {"permission_id":"p-1","outcome":"selected","option_id":"accept","by":"agent","reason":"completed"}`,
		said(c, []byte(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`)))
	require.Contains(t, said(c, []byte(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`)), `note {"method":"elicitation/complete"`)
}

func TestACompletedElicitationClosesEachOfItsQuestions(t *testing.T) {
	c := acp.NewConversation("", true)
	for _, id := range []string{"7", "8"} {
		said(c, []byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"elicitation/create","params":{"sessionId":"s","mode":"url","elicitationId":"e","url":"https://example.invalid","message":"Sign in"}}`))
	}
	closed := said(c, []byte(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`))
	for _, id := range []string{"p-1", "p-2"} {
		require.Contains(t, closed, `permission_outcome {"permission_id":"`+id+`","outcome":"selected","option_id":"accept","by":"agent","reason":"completed"}`)
	}
}

func TestAnAgentsWordsAboutItsModeAreNoAnswer(t *testing.T) {
	c := acp.NewConversation("", true)
	line := updateLine(t, map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": "[MODE_UPDATE] yolo"}})
	require.Equal(t, `note {"method":"session/update","raw":{"content":{"text":"[MODE_UPDATE] yolo","type":"text"},"sessionUpdate":"agent_message_chunk"}}`, said(c, line))
}

func TestAnErrorInAnswerToTheHubIsTold(t *testing.T) {
	c := acp.NewConversation("", true)
	c.Sent([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/close","params":{"sessionId":"s"}}`))
	require.Contains(t, said(c, []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"details":"no such session"}}}`)),
		`"text":"The agent answered session/close with an error: Internal error: no such session."`)
}

// TestAnOutputThatIsResentCostsOnceInEachForm has 200 updates of up to 8 KB, in make soak
// 1,500 of up to 57 KB.
func TestAnOutputThatIsResentCostsOnceInEachForm(t *testing.T) {
	updates := soak.Rounds(200, 1500)
	for name, form := range map[string]func(text string, i int) map[string]any{
		"content": func(text string, _ int) map[string]any { return map[string]any{"content": textContent(text)} },
		"fence": func(text string, _ int) map[string]any {
			return map[string]any{"content": textContent("```\n" + text + "```")}
		},
		"a line less": func(text string, i int) map[string]any {
			return map[string]any{"content": textContent(text[:len(text)-(i%2)*(len(text)-1-strings.LastIndexByte(text[:len(text)-1], '\n'))])}
		},
		"raw output": func(text string, _ int) map[string]any {
			return map[string]any{"rawOutput": map[string]any{"stdout": text, "code": 0}}
		},
		"a raw text": func(text string, _ int) map[string]any { return map[string]any{"rawOutput": text} },
		"meta": func(text string, _ int) map[string]any {
			return map[string]any{"_meta": map[string]any{"a": map[string]any{"b": text}}}
		},
		"both": func(text string, _ int) map[string]any {
			return map[string]any{"content": textContent(text), "rawOutput": map[string]any{"output": text}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := acp.NewConversation("", true)
			text, cost := "", 0
			known := event.ToolCallFields{}
			for i := range updates {
				text += fmt.Sprintf("step %5d of %5d compiles and links 🙂\n", i+1, updates)
				update := form(text, i)
				update["sessionUpdate"], update["toolCallId"], update["status"] = "tool_call_update", "c", "in_progress"
				for _, line := range c.Said(updateLine(t, update)) {
					cost += len(line)
					var said event.ToolCallFields
					require.NoError(t, json.Unmarshal([]byte(line[strings.Index(line, "{"):]), &said))
					known.Upsert(said)
				}
				if i%100 != 99 {
					continue
				}
				if content := update["content"]; content != nil {
					require.JSONEq(t, string(mustJSON(t, content)), string(known.Whole()))
				}
				if output := update["rawOutput"]; output != nil {
					require.JSONEq(t, string(mustJSON(t, output)), string(known.WholeOutput()))
				}
			}
			require.Less(t, cost, 7*len(text))
		})
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}
