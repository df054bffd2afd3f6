package recovery_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/recovery"
)

// TestAFoldThatDecodesOnlyWhatItNeedsKnowsWhatAFullOneKnows folds random logs with
// fixed seeds in batches of many sizes: quickly, fully, and from a stored fold. The
// results must be equal.
func TestAFoldThatDecodesOnlyWhatItNeedsKnowsWhatAFullOneKnows(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		batches := randomLog(t, rnd, 1+rnd.IntN(300))
		full, err := recovery.FullFold(batches)
		require.NoError(t, err)
		quick, err := recovery.QuickFold(batches)
		require.NoError(t, err)
		require.Equal(t, full, quick, "seed %d", seed)
		stored, err := recovery.StoredFold(batches, len(batches)/2)
		require.NoError(t, err)
		require.Equal(t, full, stored, "seed %d, from fold.json", seed)
	}
}

// randomLog returns n events in batches. Some have a form that no store writes but
// a hand-edited log may have: reordered members, blanks, repeated members.
func randomLog(t *testing.T, rnd *rand.Rand, n int) []event.Batch {
	t.Helper()
	var batches []event.Batch
	var b event.Batch
	for seq := event.Seq(1); int(seq) <= n; seq++ {
		object := randomObject(t, rnd, seq)
		if b.Count == 0 {
			b.First = seq
		} else {
			b.JSON = append(b.JSON, ',')
		}
		b.JSON = append(b.JSON, object...)
		b.Last, b.Count = seq, b.Count+1
		if rnd.IntN(40) == 0 || int(seq) == n {
			batches = append(batches, b)
			b = event.Batch{}
		}
	}
	return batches
}

func randomObject(t *testing.T, rnd *rand.Rand, seq event.Seq) []byte {
	t.Helper()
	p := randomPayload(rnd)
	d, err := event.NewDraft(p, rnd.IntN(4), time.Unix(int64(seq), 0))
	require.NoError(t, err)
	at := d.Time.UTC().Format(event.TimeLayout)
	head := fmt.Sprintf(`{"seq":%d,"time":"%s","type":"%s"`, seq, at, d.Type)
	turn := ""
	if d.Turn > 0 {
		turn = fmt.Sprintf(`,"turn":%d`, d.Turn)
	}
	switch rnd.IntN(30) {
	case 0: // data of another type, which cannot be decoded
		return []byte(head + turn + `,"data":{"text":7,"prompt_id":[],"message_id":{},"message":0}}`)
	case 1:
		return []byte(head + turn + `,"data":` + string(d.Data) + `,"unverified":true}`)
	case 2: // the last type counts
		return []byte(head + turn + `,"data":` + string(d.Data) + `,"type":"agent_message"}`)
	case 3:
		return []byte(fmt.Sprintf(`{"data":%s,"seq": %d , "type":"%s","time":"%s"%s}`, d.Data, seq, d.Type, at, turn))
	case 4:
		return []byte(fmt.Sprintf(`{"seq":%d,"time":"2026-11-21T17:00:00+02:00","type":"%s"%s,"data":%s}`, seq, d.Type, turn, d.Data))
	}
	return []byte(head + turn + `,"data":` + string(d.Data) + `}`)
}

func randomPayload(rnd *rand.Rand) event.Payload {
	id := func(kind string) string { return fmt.Sprintf("%s%d", kind, rnd.IntN(6)) }
	text := event.Text([]string{
		"", "word " + id("w"), "\n\n", "a \"quoted\\\" },{\"seq\":9,\"type\":\"user_prompt\"", "two\nlines", strings.Repeat("long ", 300) + "\n", "é✓\u2028",
	}[rnd.IntN(7)])
	raw, _ := json.Marshal(map[string]any{"seq": 3, "list": []any{map[string]any{"type": "}"}, text}})
	tool := event.ToolCallFields{
		ToolCallID: id("t"), Status: []event.ToolStatus{"", event.ToolInProgress, event.ToolCompleted, event.ToolFailed}[rnd.IntN(4)], RawInput: raw, Content: raw,
	}
	switch rnd.IntN(22) {
	case 0:
		return event.UserPrompt{PromptID: id("p"), Text: text}
	case 1:
		return event.TurnStart{PromptID: id("p")}
	case 2:
		return event.TurnEnd{PromptID: id("p"), StopReason: event.StopEndTurn, Raw: raw}
	case 3:
		return event.ToolCall{ToolCallFields: tool}
	case 4:
		return event.ToolCallUpdate{ToolCallFields: tool}
	case 5:
		return event.AgentThought{MessageID: id("m"), Text: text, Raw: raw}
	case 6:
		return event.Plan{Raw: raw}
	case 7:
		return event.PermissionRequest{PermissionID: id("q"), ToolCallID: id("t"), ToolCall: raw}
	case 8:
		return event.PermissionOutcome{PermissionID: id("q"), Outcome: "selected", By: "hub"}
	case 9:
		return event.Error{Code: "c", Message: string(text)}
	case 10:
		return []event.Payload{event.Mode{ModeID: id("m")}, event.Title{Title: string(text)}, event.SessionEnd{}}[rnd.IntN(3)]
	case 11:
		return event.AgentStarted{AgentSessionID: id("s"), Resumed: event.Resumption(id("")[:rnd.IntN(2)])}
	case 12:
		return event.Unknown{Type: "of_tomorrow", Raw: raw}
	case 13:
		return event.TerminalOutput{ToolCallID: id("t")}
	}
	return event.AgentMessage{MessageID: id("m"), Text: text, Raw: raw}
}
