package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestEveryKindHasAGoldenLine pins the JSON of each kind of event, on disk and on
// the wire. The web app's tests read the same file.
func TestEveryKindHasAGoldenLine(t *testing.T) {
	golden := filepath.Join("testdata", "events.jsonl")
	var lines bytes.Buffer
	for i, p := range examples() {
		require.Equal(t, event.Kinds()[i].EventType(), p.EventType(), "examples are in the order of Kinds")
		requireAllFieldsSet(t, reflect.ValueOf(p))
		draft, err := event.NewDraft(p, 2, exampleTime)
		require.NoError(t, err)
		encoder := json.NewEncoder(&lines)
		encoder.SetEscapeHTML(false) // as on disk
		require.NoError(t, encoder.Encode(event.Event{Seq: event.Seq(i + 1), Time: draft.Time, Type: draft.Type, Turn: draft.Turn, Data: draft.Data}))
	}
	require.Len(t, event.Kinds(), len(examples()))
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, lines.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), lines.String())
}

func TestAGoldenLineReadsBackAsWhatItWas(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "events.jsonl"))
	require.NoError(t, err)
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		p, err := e.Payload()
		require.NoError(t, err)
		require.Equal(t, examples()[i], p)
	}
}

func TestAnUnknownKindIsKeptWhole(t *testing.T) {
	e := event.Event{Seq: 1, Type: "from_the_future", Data: json.RawMessage(`{"a":[1,null,{}]}`)}
	p, err := e.Payload()
	require.NoError(t, err)
	require.Equal(t, event.Unknown{Type: "from_the_future", Raw: json.RawMessage(`{"a":[1,null,{}]}`)}, p)
	draft, err := event.NewDraft(p, 0, time.Time{})
	require.NoError(t, err)
	require.Equal(t, `{"a":[1,null,{}]}`, string(draft.Data))
}

func TestDataThatDoesNotFitItsTypeIsAnError(t *testing.T) {
	_, err := event.Event{Seq: 7, Type: event.TypePlan, Data: json.RawMessage(`{"entries":3}`)}.Payload()
	require.ErrorContains(t, err, "decode event 7: plan")
}

func TestADraftIsOneLineOfValidUTF8WhateverTheAgentSent(t *testing.T) {
	for name, p := range map[string]event.Payload{
		"invalid UTF-8 in text": event.AgentMessage{MessageID: "m", Text: "a\xff\xfeb"},
		"invalid UTF-8 in raw":  event.Note{Method: "x", Raw: json.RawMessage("\"a\xffb\"")},
		"NUL and line breaks":   event.AgentMessage{MessageID: "m", Text: "a\x00b\nc\r\u2028d"},
		"raw over many lines":   event.Note{Method: "x", Raw: json.RawMessage("{\n  \"a\": 1\r\n}")},
		"lone surrogate in raw": event.Note{Method: "x", Raw: json.RawMessage(`"\ud800"`)},
	} {
		t.Run(name, func(t *testing.T) {
			draft, err := event.NewDraft(p, 1, exampleTime)
			require.NoError(t, err)
			require.True(t, utf8.Valid(draft.Data))
			require.True(t, json.Valid(draft.Data))
			require.NotContains(t, string(draft.Data), "\n")
		})
	}
}

func TestHTMLIsNotEscapedInADraft(t *testing.T) {
	draft, err := event.NewDraft(event.AgentMessage{MessageID: "m", Text: "<b>&</b>"}, 1, exampleTime)
	require.NoError(t, err)
	require.Equal(t, `{"message_id":"m","text":"<b>&</b>"}`, string(draft.Data))
}

func TestRawThatIsNotJSONIsRefused(t *testing.T) {
	_, err := event.NewDraft(event.Note{Method: "x", Raw: json.RawMessage(`{"a":`)}, 1, exampleTime)
	require.ErrorContains(t, err, "encode note")
}

func TestTextThatBecameABlobDecodesAsItsHead(t *testing.T) {
	e := event.Event{Seq: 1, Type: event.TypeAgentMessage,
		Data: json.RawMessage(`{"message_id":"m","text":{"blob":{"sha256":"ab","bytes":300000,"media_type":"text/plain"},"head":"once upon"}}`)}
	p, err := e.Payload()
	require.NoError(t, err)
	require.Equal(t, event.AgentMessage{MessageID: "m", Text: "once upon"}, p)
}

func TestABatchDecodesItsEvents(t *testing.T) {
	events, err := event.Batch{First: 1, Last: 2, Count: 2, JSON: []byte(`{"seq":1,"type":"note","data":{}},{"seq":2,"type":"note","data":{}}`)}.Events()
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, event.Seq(2), events[1].Seq)

	none, err := event.Batch{}.Events()
	require.NoError(t, err)
	require.Empty(t, none)
}

func requireAllFieldsSet(t *testing.T, v reflect.Value) {
	t.Helper()
	for _, f := range reflect.VisibleFields(v.Type()) {
		require.False(t, v.FieldByIndex(f.Index).IsZero(), "%s.%s is not set in its example", v.Type(), f.Name)
	}
}
