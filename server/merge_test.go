package server_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func TestARunOfChunksEndsWithItsTurnItsMessageAndItsKind(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	before := s.Log().Marks().Visible
	record := func(kind event.Type, turn int, data string) {
		_, _, err := s.Log().Append(t.Context(), 0, event.Draft{Type: kind, Turn: turn, Data: json.RawMessage(data)})
		require.NoError(t, err)
	}
	chunk := func(kind event.Type, turn int, id, text string) {
		record(kind, turn, fmt.Sprintf(`{"message_id":%q,"text":%q}`, id, text))
	}
	const message, thought = event.TypeAgentMessage, event.TypeAgentThought
	chunk(message, 1, "a", "1")
	chunk(message, 1, "a", "2")
	chunk(message, 2, "a", "3") // another turn
	chunk(message, 2, "b", "4") // another message
	chunk(message, 2, "b", "5")
	chunk(thought, 2, "b", "6") // another kind
	chunk(thought, 2, "b", "7")
	record(message, 2, `{"text":"8"}`) // without a message id
	record(message, 2, `{"text":"9"}`)
	record(message, 2, `{"message_id":"c","text":"10","raw":{"more":1}}`) // more than text
	chunk(message, 2, "c", "11")
	chunk(message, 2, "c", "12")

	var page wire.EventsLoaded
	answer := h.api("GET", fmt.Sprintf("/api/sessions/%s/events?after_seq=%d&epoch=%s&limit=100&merge=true", s.ID(), before, s.Log().Epoch()), nil)
	require.NoError(t, json.Unmarshal([]byte(answer.body), &page), answer.body)
	var got []string
	for _, e := range page.Events {
		var data struct{ Text string }
		require.NoError(t, json.Unmarshal(e.Data, &data))
		first := e.FirstSeq
		if first == 0 {
			first = e.Seq
		}
		got = append(got, fmt.Sprintf("%d-%d of turn %d: %s", first-before, e.Seq-before, e.Turn, data.Text))
	}
	require.Equal(t, []string{
		"1-2 of turn 1: 12",
		"3-3 of turn 2: 3",
		"4-5 of turn 2: 45",
		"6-7 of turn 2: 67",
		"8-8 of turn 2: 8",
		"9-9 of turn 2: 9",
		"10-10 of turn 2: 10",
		"11-12 of turn 2: 1112",
	}, got)
}

func TestACatchingUpClientIsNotSentReplacedContents(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	before := s.Log().Marks().Visible
	record := func(kind event.Type, data string) {
		_, _, err := s.Log().Append(t.Context(), 0, event.Draft{Type: kind, Turn: 1, Data: json.RawMessage(data)})
		require.NoError(t, err)
	}
	const call, update, output = event.TypeToolCall, event.TypeToolCallUpdate, event.TypeTerminalOutput
	record(call, `{"tool_call_id":"a","title":"make","content":[1]}`)
	record(update, `{"tool_call_id":"a","content":[2]}`)
	record(update, `{"tool_call_id":"a","status":"in_progress","content":[{"type":"content"}]}`)
	record(update, `{"tool_call_id":"a","content_added":"<x>"}`)
	record(update, `{"tool_call_id":"a","content_added":"y"}`)
	record(update, `{"tool_call_id":"b","content":[{"type":"diff"}],"raw_output":1}`)
	record(update, `{"tool_call_id":"b","content":[3],"raw":{"content":[3],"rawOutput":1,"_meta":{}}}`)
	record(update, `{"tool_call_id":"c","content_added":"z"}`)
	record(update, `{"tool_call_id":"b","content":[4],"raw_output":2}`)
	record(output, `{"terminal_id":"t","tool_call_id":"a","data":"1"}`)
	record(output, `{"terminal_id":"t","tool_call_id":"a","data":"2"}`)
	record(output, `{"terminal_id":"t","tool_call_id":"a","data":"","exit":{"code":0}}`)
	record(update, `{"tool_call_id":"d","content":[{"type":"diff"}]}`)
	record(update, `{"tool_call_id":"d","content":[5]}`)
	record(event.TypeAgentMessage, `{"message_id":"m","content":{"a":1}}`)
	record(event.TypeAgentMessage, `{"message_id":"m","content":{"a":2}}`)

	var page wire.EventsLoaded
	answer := h.api("GET", fmt.Sprintf("/api/sessions/%s/events?after_seq=%d&epoch=%s&limit=100&merge=true", s.ID(), before, s.Log().Epoch()), nil)
	require.NoError(t, json.Unmarshal([]byte(answer.body), &page), answer.body)
	var got []string
	for _, e := range page.Events {
		got = append(got, fmt.Sprintf("%d-%d %s", max(0, e.FirstSeq-before), e.Seq-before, e.Data))
	}
	require.Equal(t, []string{
		`0-1 {"title":"make","tool_call_id":"a"}`,
		`2-5 {"content":[{"type":"content"}],"content_added":"<x>y","status":"in_progress","tool_call_id":"a"}`,
		`6-7 {"content":[{"type":"diff"}],"raw":{"_meta":{},"rawOutput":1},"tool_call_id":"b"}`,
		`0-8 {"tool_call_id":"c","content_added":"z"}`,
		`0-9 {"tool_call_id":"b","content":[4],"raw_output":2}`,
		`10-11 {"data":"12","terminal_id":"t","tool_call_id":"a"}`,
		`0-12 {"terminal_id":"t","tool_call_id":"a","data":"","exit":{"code":0}}`,
		`0-13 {"tool_call_id":"d","content":[{"type":"diff"}]}`,
		`0-14 {"tool_call_id":"d","content":[5]}`,
		`0-15 {"message_id":"m","content":{"a":1}}`,
		`0-16 {"message_id":"m","content":{"a":2}}`,
	}, got)
}
