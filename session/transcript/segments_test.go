package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// The tokenizers named in counts.json produced the counts.
func TestTheEstimateOfTokensIsWithinAQuarterOfRealTokenizers(t *testing.T) {
	dir := filepath.Join("testdata", "tokens")
	raw, err := os.ReadFile(filepath.Join(dir, "counts.json"))
	require.NoError(t, err)
	var real struct {
		Counts map[string]map[string]int `json:"counts"`
	}
	require.NoError(t, json.Unmarshal(raw, &real))
	require.Len(t, real.Counts, 4)
	for name, counts := range real.Counts {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for tokenizer, count := range counts {
			require.InEpsilon(t, count, transcript.Tokens(string(text)), 0.25, "%s by %s", name, tokenizer)
		}
	}
}

func segmentsOf(t *testing.T, limit int, payloads ...event.Payload) []transcript.Segment {
	t.Helper()
	s := transcript.NewSegments(limit)
	turn := 0
	for i, p := range payloads {
		if _, is := p.(event.UserPrompt); is {
			turn++
		}
		e := numbered(t, event.Seq(i+100), p) // the beginning of the log may be removed
		e.Turn = turn
		s.Apply(e)
	}
	list, left := s.List()
	require.Zero(t, left)
	return list
}

func TestSegmentsHoldEverythingOnceInOrder(t *testing.T) {
	long := strings.Repeat("All work and no play makes a dull day.\n", 400)
	list := segmentsOf(t, 500,
		event.UserPrompt{PromptID: "p1", Text: "first question"},
		event.AgentThought{MessageID: "h", Text: "a secret thought"},
		event.AgentMessage{MessageID: "m1", Text: "first "}, event.AgentMessage{MessageID: "m1", Text: "answer"},
		event.ToolCall{ToolCallFields: event.ToolCallFields{
			ToolCallID: "t1", Title: "go test", Status: event.ToolInProgress, RawInput: json.RawMessage(`{"command":"go test ./..."}`),
		}},
		event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{
			ToolCallID: "t1", Status: event.ToolCompleted, Content: json.RawMessage(`[{"type":"content","content":{"type":"text","text":"ok"}},{"type":"diff","path":"a.go","newText":"package a"}]`),
		}},
		event.Note{Method: transcript.NoteSegment, Text: "told before"},
		event.UserPrompt{PromptID: "p2", Text: event.Text(long)},
		event.AgentMessage{MessageID: "m2", Text: "the end"},
	)
	require.Greater(t, len(list), 3)
	var all strings.Builder
	for _, s := range list {
		require.LessOrEqual(t, s.Tokens, 500)
		require.InDelta(t, transcript.Tokens(s.Text), s.Tokens, 10)
		all.WriteString(s.Text)
	}
	require.Equal(t, "User:\nfirst question\n\nAssistant:\nfirst answer\n\n"+
		"Tool call: go test (completed)\nInput: {\"command\":\"go test ./...\"}\nOutput:\nok\nChanged a.go, new text:\npackage a\n\n"+
		"User:\n"+strings.TrimSpace(long)+"\n\nAssistant:\nthe end\n\n", all.String())
}

func TestATextWithoutLinesIsSplitBetweenRunes(t *testing.T) {
	text := strings.Repeat("漢", 2000)
	list := segmentsOf(t, 300, event.UserPrompt{PromptID: "p", Text: event.Text(text)})
	require.Greater(t, len(list), 5)
	var all strings.Builder
	for _, s := range list {
		require.True(t, strings.ToValidUTF8(s.Text, "") == s.Text)
		all.WriteString(s.Text)
	}
	require.Contains(t, all.String(), text)
}
