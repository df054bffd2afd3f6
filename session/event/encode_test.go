package event_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// marshalled returns a payload encoded by encoding/json.
func marshalled(p event.Payload) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(p)
	return bytes.ToValidUTF8(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), []byte("\uFFFD")), err
}

// streamed returns the kinds that have a hand-written encoder, with the given
// values in every field.
func streamed(text string, raw []byte, line int) []event.Payload {
	fields := event.ToolCallFields{
		ToolCallID: text, Title: text, Kind: event.ToolKind(text), Status: event.ToolStatus(text), Content: raw,
		RawInput: raw, RawOutput: raw, Raw: raw, Synthetic: line > 0,
	}
	located := fields
	located.Locations = []event.Location{{Path: text}, {Path: text, Line: &line}}
	return []event.Payload{
		event.AgentMessage{MessageID: text, Text: event.Text(text), Content: raw, Raw: raw},
		event.AgentThought{MessageID: text, Text: event.Text(text), Content: raw, Raw: raw},
		event.ToolCall{ToolCallFields: fields}, event.ToolCallUpdate{ToolCallFields: located},
		event.TerminalOutput{TerminalID: text, ToolCallID: text, Data: event.Text(text)},
		event.TerminalOutput{TerminalID: text, Data: event.Text(text), Exit: &event.TerminalExit{Code: &line}},
	}
}

func FuzzStreamedPayloadsAreEncodedAsEncodingJSONDoes(f *testing.F) {
	f.Add("", []byte(nil), 0)
	f.Add("plain", []byte(`{"a": [1, "b c", null]}`), 1)
	f.Add("\"\\\b\f\n\r\t\x00\x1f\x7f<>&é\u2028\u2029\U0001F600", []byte(` "x y" `), -1)
	f.Add("caf\xe9 \xf0\x9f\x98 \xed\xa0\x80", []byte("\"caf\xe9 \\u2028 \u2028\""), 7)
	f.Add("x", []byte(`{"a":`), 0)
	f.Add("x", []byte(`{} {}`), 0)
	f.Fuzz(func(t *testing.T, text string, raw []byte, line int) {
		for _, p := range streamed(text, raw, line) {
			want, bad := marshalled(p)
			draft, err := event.NewDraft(p, 0, time.Time{})
			if bad != nil {
				require.Error(t, err, "%T", p)
				continue
			}
			require.NoError(t, err, "%T", p)
			require.Equal(t, string(want), string(draft.Data), "%T", p)
			require.True(t, utf8.Valid(draft.Data))
		}
	})
}
