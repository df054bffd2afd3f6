package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

func TestTurnsAsJSONAreThoseOfTheTranscript(t *testing.T) {
	var events []event.Event
	add := func(turn int, p event.Payload) {
		draft, err := event.NewDraft(p, turn, time.Unix(int64(len(events)), 0).UTC())
		require.NoError(t, err)
		events = append(events, event.Event{Seq: event.Seq(len(events) + 1), Time: draft.Time, Type: draft.Type, Turn: turn, Data: draft.Data})
	}
	add(0, event.Note{Method: "abide/made", Text: "made"})
	for turn := 1; turn < 3; turn++ {
		add(turn, event.UserPrompt{PromptID: "p", Text: "go"})
		for range 500 {
			add(turn, event.AgentMessage{MessageID: "a", Text: "chunk "})
		}
		add(turn, event.AgentThought{MessageID: "a", Text: "hm"})
		add(turn, event.AgentMessage{MessageID: "a", Text: "more"})
		add(turn, event.AgentMessage{MessageID: "b", Text: "other"})
		add(turn, event.AgentMessage{MessageID: "b", Content: json.RawMessage(`{"type":"image"}`)})
		add(turn, event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "ls", Status: event.ToolCompleted}})
		add(turn, event.TurnEnd{PromptID: "p", StopReason: event.StopEndTurn})
	}
	var whole transcript.Transcript
	var out bytes.Buffer
	sink := turnSink(&out)
	for _, e := range events {
		require.NoError(t, whole.Apply(e))
	}
	for _, e := range joined(t, events) {
		require.NoError(t, sink.write(e))
	}
	require.NoError(t, sink.close())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(whole.Turns))
	for i, turn := range whole.Turns {
		want, err := json.Marshal(turn)
		require.NoError(t, err)
		require.JSONEq(t, string(want), lines[i])
	}
}

// joined merges each run of 500 chunks into two events, as two pages of a hub do.
func joined(t *testing.T, events []event.Event) (list []event.Event) {
	t.Helper()
	for _, e := range events {
		if !strings.Contains(string(e.Data), `"chunk "`) {
			list = append(list, e)
			continue
		}
		if last := len(list) - 1; list[last].FirstSeq != 0 && e.Seq%300 != 0 {
			list[last].Seq = e.Seq
			list[last].Data = json.RawMessage(strings.Replace(string(list[last].Data), `"chunk `, `"chunk chunk `, 1))
			continue
		}
		e.FirstSeq = e.Seq
		list = append(list, e)
	}
	require.Less(t, len(list), 30)
	return list
}
