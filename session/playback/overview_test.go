package playback_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestAStoredOverviewIsReadAsItWasWritten folds a committed log with every kind of
// event, and compares the file with what this format made of it when it was introduced.
// A hub would continue an overview that an earlier build wrote of the same log.
func TestAStoredOverviewIsReadAsItWasWritten(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "event", "testdata", "story.jsonl"))
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	foldOf := func(n int) (*playback.Fold, string) {
		f := playback.NewFold("0123456789abcdef")
		require.NoError(t, f.Apply(event.Batch{First: 1, Last: event.Seq(n), Count: n, JSON: bytes.Join(lines[:n], []byte(","))}))
		data, err := f.Encode()
		require.NoError(t, err)
		return f, string(data)
	}
	f, stored := foldOf(len(lines))
	again, ok := playback.ReadFold([]byte(stored), "0123456789abcdef", event.Seq(len(lines)))
	require.True(t, ok)
	require.Equal(t, f, again, "a stored overview must say everything")

	golden := filepath.Join("testdata", "overview.json")
	data, err := os.ReadFile(golden)
	require.True(t, err == nil || os.IsNotExist(err), "%v", err)
	want := string(data)
	if old, known := playback.ReadFold(data, "0123456789abcdef", event.Seq(len(lines))); known {
		_, now := foldOf(int(old.Overview.AtSeq))
		require.Equal(t, want, now, "an overview of this log is not what an earlier build stored: raise foldFormat, then run this test with -update")
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(stored), 0o644))
		return
	}
	require.Equal(t, want, stored, "run this test with -update")
}

// told is an event of a test's log and the time since the previous one.
type told struct {
	after time.Duration
	turn  int
	event.Payload
}

// batchOf returns a log that begins at noon.
func batchOf(t *testing.T, list ...told) event.Batch {
	t.Helper()
	at := time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)
	var objects []string
	for i, one := range list {
		at = at.Add(one.after)
		data, err := json.Marshal(one.Payload)
		require.NoError(t, err)
		object, err := json.Marshal(event.Event{Seq: event.Seq(i + 1), Time: at, Type: one.EventType(), Turn: one.turn, Data: data})
		require.NoError(t, err)
		objects = append(objects, string(object))
	}
	return event.Batch{First: 1, Last: event.Seq(len(list)), Count: len(list), JSON: []byte(strings.Join(objects, ","))}
}

func overviewOf(t *testing.T, list ...told) playback.Overview {
	t.Helper()
	f := playback.NewFold("0123456789abcdef")
	require.NoError(t, f.Apply(batchOf(t, list...)))
	return f.Overview
}

func diff(before, after string) json.RawMessage {
	data, err := json.Marshal([]map[string]string{{"type": "diff", "path": "/a.go", "oldText": before, "newText": after}})
	if err != nil {
		panic(err)
	}
	return data
}

func call(id, kind, status string, content json.RawMessage) event.ToolCallUpdate {
	return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: id, Title: id, Kind: event.ToolKind(kind), Status: event.ToolStatus(status), Content: content}}
}

func TestATurnIsSummarizedFromItsEvents(t *testing.T) {
	failed := call("test", "execute", "completed", nil)
	failed.RawOutput = json.RawMessage(`{"metadata":{"exit":2}}`)
	o := overviewOf(t,
		told{0, 1, event.UserPrompt{PromptID: "p", Text: "fix\nit", Actor: "phone"}},
		told{time.Second, 1, call("edit", "edit", "pending", diff("a\nb\nc\n", "a\nX\nc\nd\n"))},
		told{time.Second, 1, call("edit", "", "completed", diff("a\nb\nc\n", "a\nX\nc\n"))},
		told{time.Second, 1, call("no", "edit", "pending", diff("", "1\n2\n"))},
		told{time.Second, 1, call("no", "", "failed", nil)},
		told{time.Second, 1, event.PermissionRequest{PermissionID: "q", Title: "run?", Options: []event.PermissionOption{}}},
		told{time.Hour, 1, failed},
		told{time.Second, 1, event.TurnEnd{PromptID: "p", StopReason: event.StopEndTurn, Usage: json.RawMessage(`{"totalTokens":9}`)}},
	)
	require.Len(t, o.Turns, 1)
	turn := o.Turns[0]
	require.Equal(t, "fix it", turn.Prompt)
	require.Equal(t, []playback.File{{Path: "/a.go", Added: 1, Removed: 1}}, turn.Files)
	require.Equal(t, []int{1, 1, 3, 1, 1, 1}, []int{turn.Added, turn.Removed, turn.Tools, turn.Commands, turn.CommandsFailed, turn.Questions})
	require.Equal(t, int64(9), turn.Tokens)
	require.Equal(t, (time.Hour + 6*time.Second).Milliseconds(), turn.MS)
	var marks []string
	for _, m := range o.Marks {
		marks = append(marks, fmt.Sprint(m.Seq, " ", m.Kind))
	}
	require.Equal(t, []string{"1 prompt", "2 edit", "4 edit", "5 error", "6 question", "7 command", "7 error"}, marks)
	require.Equal(t, int64(8000), o.Order.PlayedMS[7], "an hour's silence plays as two seconds")
}

// TestOnlyCompletedCallsThatNobodyRejectedChangedFiles has one call in each mood.
func TestOnlyCompletedCallsThatNobodyRejectedChangedFiles(t *testing.T) {
	asks := func(status, option string) []told {
		list := []told{
			{0, 1, event.UserPrompt{PromptID: "p", Text: "go"}},
			{0, 1, call("edit", "edit", "pending", diff("", "1\n"))},
			{0, 1, event.PermissionRequest{PermissionID: "q", ToolCallID: "edit", Title: "edit?", Options: []event.PermissionOption{
				{OptionID: "yes", Kind: "allow_once"}, {OptionID: "no", Kind: "reject_once"},
			}}},
		}
		if option != "" {
			list = append(list, told{0, 1, event.PermissionOutcome{PermissionID: "q", Outcome: event.OutcomeSelected, OptionID: option}})
		}
		if status != "" {
			list = append(list, told{0, 1, call("edit", "", status, nil)})
		}
		return list
	}
	for name, c := range map[string]struct {
		log     []told
		changed bool
	}{
		"it waits for an answer":           {asks("", ""), false},
		"allowed, and not finished":        {asks("in_progress", "yes"), false},
		"allowed and completed":            {asks("completed", "yes"), true},
		"allowed and failed":               {asks("failed", "yes"), false},
		"rejected, and called completed":   {asks("completed", "no"), false},
		"completed, though never answered": {asks("completed", ""), true},
	} {
		turn := overviewOf(t, c.log...).Turns[0]
		require.Equal(t, c.changed, len(turn.Files) == 1, name)
		require.Equal(t, c.changed, turn.Added == 1, name)
	}
}

func TestAnOverviewStaysSmallAndCountsEveryEvent(t *testing.T) {
	const turns = 2400
	var list []told
	for i := range turns {
		list = append(list,
			told{time.Second, i + 1, event.UserPrompt{PromptID: fmt.Sprint(i), Text: "go"}},
			told{-500 * time.Millisecond, i + 1, call(fmt.Sprint(i), "execute", "failed", nil)},
			told{time.Second, i + 1, event.TurnEnd{PromptID: fmt.Sprint(i), StopReason: event.StopEndTurn}})
	}
	o := overviewOf(t, list...)
	sum := 0
	for _, n := range o.Time.Events {
		sum += n
	}
	require.Equal(t, len(list), sum)
	require.LessOrEqual(t, len(o.Time.Events), 512)
	require.LessOrEqual(t, len(o.Order.AtMS), 512)
	require.IsNonDecreasing(t, o.Order.AtMS)
	require.Equal(t, int64(len(o.Order.AtMS)), (int64(len(list))+o.Order.BucketEvents-1)/o.Order.BucketEvents)
	require.LessOrEqual(t, len(o.Marks), 2000)
	require.Equal(t, turns*3, len(o.Marks)+o.MarksLeftOut)
	require.Len(t, o.Turns, 2000)
	require.Equal(t, turns, o.Turns[1999].Turn)
	require.Equal(t, turns-2000, o.TurnsLeftOut)
}

func TestAFoldThatIsReadBackGoesOnAsIfItNeverEnded(t *testing.T) {
	list := []told{
		{0, 1, event.UserPrompt{PromptID: "p", Text: "fix"}},
		{time.Second, 1, call("edit", "edit", "pending", diff("a\nb\n", "c\nd\ne\n"))},
		{time.Second, 1, call("edit", "", "", diff("a\nb\n", "a\n"))},
		{3 * time.Second, 1, call("edit", "", "failed", nil)},
		{time.Second, 2, event.UserPrompt{PromptID: "q", Text: "again"}},
	}
	want := overviewOf(t, list...)
	for cut := range list {
		f := playback.NewFold("0123456789abcdef")
		require.NoError(t, f.Apply(batchOf(t, list[:cut]...)))
		data, err := f.Encode()
		require.NoError(t, err)
		f, ok := playback.ReadFold(data, "0123456789abcdef", 5)
		require.True(t, ok)
		require.NoError(t, f.Apply(batchOf(t, list...)))
		require.Equal(t, want, f.Overview)
		_, ok = playback.ReadFold(data, "fedcba9876543210", 5)
		require.False(t, ok, "of another epoch")
	}
}
