package plain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

func TestControlCharactersBecomeVisible(t *testing.T) {
	require.Equal(t, "␛[31mred", plain.Text("\x1b[31mred"))
	require.Equal(t, "a<U+009B>31m", plain.Text("a\u009b31m"))
	require.Equal(t, "one\ntwo\tthree", plain.Text("one\r\ntwo\tthree"))
	require.Equal(t, "over␍written", plain.Text("over\rwritten"))
	require.Equal(t, "<U+202E>txt<U+2069>", plain.Text("\u202etxt\u2069"))
	require.Equal(t, "a\ufffdb", plain.Text("a\xffb"))
	require.Equal(t, "one two", plain.Line("  one\n\ttwo\r\n"))
	require.Equal(t, "👩‍👩‍👧 नमस्ते", plain.Text("👩‍👩‍👧 नमस्ते"), "joiners are how these are written")
}

func TestJSONKeepsItsValueAndLosesItsControlCharacters(t *testing.T) {
	value := map[string]string{"a": "\x1b\x7f\u009b\u202e\U000e0041é👍\u2028"}
	data, err := json.Marshal(value)
	require.NoError(t, err)
	safe := plain.JSON(data)
	require.NotContains(t, string(safe), "\u009b")
	require.NotContains(t, string(safe), "\x7f")
	require.NotContains(t, string(safe), "\u202e")
	require.NotContains(t, string(safe), "\U000e0041")
	var back map[string]string
	require.NoError(t, json.Unmarshal(safe, &back))
	require.Equal(t, value, back)
}

func TestWidthsAreThoseOfTheTerminal(t *testing.T) {
	require.Equal(t, 4, plain.Width("日本"))
	require.Equal(t, 1, plain.Width("e\u0301"))
	require.Equal(t, 2, plain.Width("👩‍👩‍👧"))
	require.Equal(t, "日…", plain.Cut("日本語", 4), "half of a wide character is not shown")
	require.Equal(t, "e\u0301…", plain.Cut("e\u0301a\u0301o\u0301", 2), "a mark stays with its letter")
	require.Equal(t, "abc", plain.Cut("abc", 3))
	require.Equal(t, "", plain.Cut("abc", 0))
}

// written returns a feed's lines of the payloads, numbered from 1, in turn 1.
func written(t *testing.T, level plain.Level, style plain.Style, payloads ...event.Payload) string {
	t.Helper()
	var out bytes.Buffer
	feed := plain.NewFeed(&out, level, style)
	for _, e := range events(t, payloads...) {
		require.NoError(t, feed.Write(e))
	}
	require.NoError(t, feed.Close())
	return out.String()
}

func events(t *testing.T, payloads ...event.Payload) (list []event.Event) {
	t.Helper()
	for i, p := range payloads {
		draft, err := event.NewDraft(p, 1, time.Unix(int64(i), 0).UTC())
		require.NoError(t, err)
		list = append(list, event.Event{Seq: event.Seq(i + 1), Time: draft.Time, Type: draft.Type, Turn: 1, Data: draft.Data})
	}
	return list
}

func call(id, title string, status event.ToolStatus, content string) event.ToolCallFields {
	fields := event.ToolCallFields{ToolCallID: id, Title: title, Status: status}
	if content != "" {
		fields.Content = json.RawMessage(content)
	}
	return fields
}

func session() []event.Payload {
	return []event.Payload{
		event.UserPrompt{PromptID: "p", Text: "fix\nit", Attachments: []event.Attachment{{Name: "a.png", Bytes: 3}}},
		event.AgentThought{MessageID: "t", Text: "hm"},
		event.AgentMessage{MessageID: "m", Text: "I will"},
		event.AgentMessage{MessageID: "m", Text: " do so."},
		event.ToolCall{ToolCallFields: call("1", "", event.ToolPending, "")},
		event.ToolCallUpdate{ToolCallFields: call("1", "Edit a.go", "", `[{"type":"diff","path":"/a.go","oldText":"x\n","newText":"y\n"}]`)},
		event.PermissionRequest{
			PermissionID: "q", Title: "Edit a.go", ToolCall: json.RawMessage(`{"rawInput":{"path":"/a.go"}}`),
			Options: []event.PermissionOption{{OptionID: "y", Name: "Allow"}, {OptionID: "n", Name: "Reject"}},
		},
		event.PermissionOutcome{PermissionID: "q", Outcome: event.OutcomeSelected, OptionID: "y", By: "phone"},
		event.ToolCallUpdate{ToolCallFields: call("1", "", event.ToolCompleted, "")},
		event.ToolCall{ToolCallFields: call("2", "go test", event.ToolFailed, `[{"type":"content","content":{"type":"text","text":"FAIL\nexit 1"}}]`)},
		event.ToolCall{ToolCallFields: call("3", "sleep", event.ToolInProgress, "")},
		event.Plan{Entries: []event.PlanEntry{{Content: "look", Status: "completed"}, {Content: "act"}}},
		event.TurnEnd{PromptID: "p", StopReason: event.StopRefusal, Error: &event.Failure{Message: "no"}},
		event.UserPrompt{PromptID: "p2", Text: "again"},
	}
}

func TestAFeedWritesWhatItsLevelAsksFor(t *testing.T) {
	require.Equal(t, "› fix\n› it\n  + a.png, 3 bytes\nI will do so.\n? Edit a.go\n  1 Allow · 2 Reject\n  → Allow (phone)\n"+
		"! the turn ended: refusal: no\n\n› again\n", written(t, plain.Compact, false, session()...))
	require.Equal(t, "› fix\n› it\n  + a.png, 3 bytes\nI will do so.\n? Edit a.go\n  /a.go\n  1 Allow · 2 Reject\n  → Allow (phone)\n"+
		"• Edit a.go\n✗ go test (failed)\n… sleep (not finished)\n! the turn ended: refusal: no\n\n› again\n", written(t, plain.Normal, false, session()...))
	require.Equal(t, "› fix\n› it\n  + a.png, 3 bytes\nhm\nI will do so.\n? Edit a.go\n  /a.go\n  1 Allow · 2 Reject\n  → Allow (phone)\n"+
		"• Edit a.go\n--- /a.go\n+++ /a.go\n@@ -1,1 +1,1 @@\n-x\n+y\n\n✗ go test (failed)\n  FAIL\n  exit 1\n\n[x] look\n[ ] act\n"+
		"… sleep (not finished)\n! the turn ended: refusal: no\n\n› again\n", written(t, plain.Full, false, session()...))
}

// TestATurnThatSaidNothingSaysSo is for turns without a message, a call or a plan.
// The hub's own notes are in the history. The steps of a restore are not, and neither is a note of
// an agent with the name of one of the hub's.
func TestAFeedSaysWhatTheHubStates(t *testing.T) {
	notes := []event.Payload{
		event.Note{Method: "abide/restore", Text: "The agent got the session."},
		event.Note{Method: "abide/restore_segment", Text: "Segment 1 of 2 was sent."},
		event.Note{Method: "abide/branch", Raw: json.RawMessage(`{}`)},
		event.Note{Method: "abide/restore", Text: "I got it."}.Heard(event.FromAgent),
	}
	require.Equal(t, "— The agent got the session.\n", written(t, plain.Normal, false, notes...))
	require.Empty(t, written(t, plain.Compact, false, notes...))
	require.Equal(t, "— The agent got the session.\n— Segment 1 of 2 was sent.\n— I got it.\n", written(t, plain.Full, false, notes...))
}

func TestATurnThatSaidNothingSaysSo(t *testing.T) {
	prompt, end := event.UserPrompt{PromptID: "p", Text: "go"}, event.TurnEnd{PromptID: "p", StopReason: event.StopEndTurn}
	const words = "— the agent ended its turn without a word\n"
	for _, level := range []plain.Level{plain.Compact, plain.Normal, plain.Full} {
		require.Contains(t, written(t, level, false, prompt, event.AgentMessage{MessageID: "m", Text: " \n"}, end), words)
		for _, said := range []event.Payload{
			event.AgentMessage{MessageID: "m", Text: "done"}, event.Plan{Entries: []event.PlanEntry{{Content: "look"}}},
			event.ToolCall{ToolCallFields: call("1", "ls", event.ToolCompleted, "")},
		} {
			require.NotContains(t, written(t, level, false, prompt, said, end), words)
		}
		waits := written(t, level, false, prompt, event.TurnInterrupted{Reason: event.CutPaused}, event.TurnEnd{PromptID: "p", StopReason: event.StopInterrupted})
		require.Contains(t, waits, "! Waiting for your choice: the turn has not begun.\n")
		require.NotContains(t, waits, "interrupted")
	}
}

func TestColoursWrapWholeLinesAndAreTakenBack(t *testing.T) {
	text := written(t, plain.Normal, true, session()...)
	require.Contains(t, text, "\x1b[1m› fix\x1b[0m\n")
	require.Equal(t, strings.Count(text, "\x1b[")/2, strings.Count(text, "\x1b[0m"))
	require.NotContains(t, written(t, plain.Full, false, session()...), "\x1b")
}

// A question shows what would be done as a person reads it, never JSON in one line.
func TestAQuestionShowsItsCommandPathAndChanges(t *testing.T) {
	for call, want := range map[string]string{
		`{"rawInput":{"command":"cd a &&\nmake","cwd":"/w","timeout":5}}`: "  $ cd a &&\n    make\n  cwd: /w\n  timeout: 5\n",
		`{"rawInput":{"command":["git","commit","-m","it's done"]}}`:      "  $ git commit -m 'it'\\''s done'\n",
		`{"rawInput":{"file_path":"/a.go","limit":10}}`:                   "  /a.go\n  limit: 10\n",
		`{"rawInput":{"edits":[{"at":1}],"note":"one\ntwo"}}`:             "  edits:\n    [\n      {\n        \"at\": 1\n      }\n    ]\n  note:\n    one\n    two\n",
		`{"rawInput":"look\u001b[2J"}`:                                    "  look␛[2J\n",
		`{"rawInput":null}`:                                               "",
		`{"rawInput":{}}`:                                                 "",
		`{"rawInput":{"path":"/a","content":"y\n","mode":"new"},"content":[{"type":"diff","path":"/a","newText":"y\n"}]}`:                 "  mode: new\n  --- /a\n  +++ /a\n  @@ -0,0 +1,1 @@\n  +y\n",
		`{"rawInput":{"command":"ls","description":"List it"},"content":[{"type":"content","content":{"type":"text","text":"List it"}}]}`: "  $ ls\n    List it\n",
	} {
		require.Equal(t, want, plain.Asked(event.PermissionRequest{ToolCall: json.RawMessage(call)}, false), call)
	}
}

// A folded session has each message and call in one piece where it began.
func TestAFoldedSessionHasMessagesAndCallsWhole(t *testing.T) {
	var b strings.Builder
	folded := plain.NewFolded(plain.NewFeed(&b, plain.Normal, false))
	for _, e := range events(t,
		event.UserPrompt{PromptID: "p", Text: "go"},
		event.AgentMessage{MessageID: "m", Text: "One "},
		event.ToolCall{ToolCallFields: call("1", "look", event.ToolPending, "")},
		event.AgentMessage{MessageID: "m", Text: "two"},
		event.AgentMessage{MessageID: "n", Text: "three"},
		event.ToolCallUpdate{ToolCallFields: call("1", "", event.ToolFailed, "")},
		event.AgentMessage{MessageID: "m", Text: " four"},
		event.TurnEnd{PromptID: "p", StopReason: event.StopEndTurn},
		event.UserPrompt{PromptID: "q", Text: "on"},
		event.AgentMessage{MessageID: "m", Text: "five"},
	) {
		require.NoError(t, folded.Write(e))
	}
	require.NotContains(t, b.String(), "five", "the turn has not ended")
	require.NoError(t, folded.Close())
	require.Equal(t, "› go\nOne two four\n✗ look (failed)\nthree\n\n› on\nfive\n", b.String())
}

// A question about a call that is known shows the changes of that call.
func TestAQuestionShowsTheKnownCall(t *testing.T) {
	text := written(t, plain.Normal, false,
		event.ToolCall{ToolCallFields: call("1", "Edit a", event.ToolPending, `[{"type":"diff","path":"/a","newText":"y\n"}]`)},
		event.PermissionRequest{PermissionID: "q", Title: "May I?", ToolCall: json.RawMessage(`{"toolCallId":"1"}`)})
	require.Contains(t, text, "? May I?\n  --- /a\n  +++ /a\n")
}
