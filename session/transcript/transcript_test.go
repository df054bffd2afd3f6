package transcript_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
	"github.com/stretchr/testify/require"
)

// fold numbers the payloads from 1 and applies them in turn 1.
func fold(t *testing.T, payloads ...event.Payload) *transcript.Transcript {
	t.Helper()
	var tr transcript.Transcript
	for i, p := range payloads {
		require.NoError(t, tr.Apply(numbered(t, event.Seq(i+1), p)))
	}
	return &tr
}

func numbered(t *testing.T, seq event.Seq, p event.Payload) event.Event {
	t.Helper()
	draft, err := event.NewDraft(p, 1, time.Unix(int64(seq), 0).UTC())
	require.NoError(t, err)
	return event.Event{Seq: seq, Time: draft.Time, Type: draft.Type, Turn: draft.Turn, Data: draft.Data}
}

func TestChunksOfOneMessageJoinAcrossWhatCameBetween(t *testing.T) {
	tr := fold(t,
		event.UserPrompt{PromptID: "p", Text: "hi"},
		event.AgentThought{MessageID: "m", Text: "hm"},
		event.AgentMessage{MessageID: "m", Text: "Hel"},
		event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "ls"}},
		event.AgentMessage{MessageID: "m", Text: "lo", Content: json.RawMessage(`{"type":"image"}`)},
	)
	require.Len(t, tr.Turns, 1)
	require.Equal(t, event.Text("hi"), tr.Turns[0].Prompt.Text)
	entries := tr.Turns[0].Entries
	require.Len(t, entries, 3)
	require.Equal(t, transcript.Thought, entries[0].Kind)
	require.Equal(t, "Hello", entries[1].Text)
	require.Len(t, entries[1].Blocks, 1)
	require.Equal(t, event.Seq(3), entries[1].Seq)
}

func TestAToolCallIsAnUpsertInWhichAbsentMeansUnchanged(t *testing.T) {
	tr := fold(t,
		event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "ls", Status: event.ToolPending, RawInput: json.RawMessage(`{"a":1}`)}},
		event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Status: event.ToolCompleted, Content: json.RawMessage(`[]`)}},
	)
	require.Len(t, tr.Turns[0].Entries, 1)
	require.Equal(t, &event.ToolCallFields{ToolCallID: "c", Title: "ls", Status: event.ToolCompleted, RawInput: json.RawMessage(`{"a":1}`), Content: json.RawMessage(`[]`)}, tr.Turns[0].Entries[0].Tool)
}

func TestAPermissionCarriesItsFirstOutcome(t *testing.T) {
	tr := fold(t,
		event.PermissionRequest{PermissionID: "p", Title: "run", Options: []event.PermissionOption{}},
		event.PermissionOutcome{PermissionID: "p", Outcome: event.OutcomeSelected, OptionID: "yes", By: "phone"},
		event.PermissionOutcome{PermissionID: "p", Outcome: event.OutcomeCancelled, By: "hub"},
		event.PermissionOutcome{PermissionID: "unknown", Outcome: event.OutcomeCancelled, By: "hub"},
	)
	require.Len(t, tr.Turns[0].Entries, 1)
	require.Equal(t, "phone", tr.Turns[0].Entries[0].Outcome.By)
}

func TestAPlanReplacesTheOneBeforeInItsTurn(t *testing.T) {
	tr := fold(t,
		event.Plan{Entries: []event.PlanEntry{{Content: "a"}}},
		event.AgentMessage{MessageID: "m", Text: "x"},
		event.Plan{Entries: []event.PlanEntry{{Content: "a", Status: "completed"}, {Content: "b"}}},
	)
	require.Len(t, tr.Turns[0].Entries, 2)
	require.Len(t, tr.Turns[0].Entries[0].Plan, 2)
}

func TestAMessageThatIsNotUnderstoodIsKept(t *testing.T) {
	var tr transcript.Transcript
	require.NoError(t, tr.Apply(event.Event{Seq: 1, Type: "from_the_future", Data: json.RawMessage(`{"a":1}`)}))
	require.NoError(t, tr.Apply(event.Event{Seq: 2, Type: event.TypePlan, Data: json.RawMessage(`{"entries":7}`)}))
	require.Len(t, tr.Turns[0].Entries, 2)
	require.Equal(t, event.Type("from_the_future"), tr.Turns[0].Entries[0].Other.Type)
	require.Equal(t, transcript.Other, tr.Turns[0].Entries[1].Kind)
}

func TestEventsApplyOnceAndInOrder(t *testing.T) {
	tr := fold(t, event.AgentMessage{MessageID: "m", Text: "a"}, event.AgentMessage{MessageID: "m", Text: "b"})
	require.NoError(t, tr.Apply(numbered(t, 2, event.AgentMessage{MessageID: "m", Text: "b"})))
	require.ErrorIs(t, tr.Apply(numbered(t, 4, event.AgentMessage{MessageID: "m", Text: "d"})), transcript.ErrGap)
	require.Equal(t, "ab", tr.Turns[0].Entries[0].Text)
	require.Equal(t, event.Seq(2), tr.LastSeq)

	merged := numbered(t, 5, event.AgentMessage{MessageID: "m", Text: "cde"})
	merged.FirstSeq = 3
	require.NoError(t, tr.Apply(merged))
	require.Equal(t, "abcde", tr.Turns[0].Entries[0].Text)
	require.Equal(t, event.Seq(5), tr.LastSeq)
}

func TestAnIdThatComesAgainInALaterTurnIsAnotherEntry(t *testing.T) {
	var tr transcript.Transcript
	for seq, turn := range []int{1, 1, 2, 2} {
		var p event.Payload = event.AgentMessage{MessageID: "m", Text: "x"}
		if seq%2 == 1 {
			p = event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "ls"}}
		}
		e := numbered(t, event.Seq(seq+1), p)
		e.Turn = turn
		require.NoError(t, tr.Apply(e))
	}
	require.Len(t, tr.Turns, 2)
	for _, turn := range tr.Turns {
		require.Len(t, turn.Entries, 2)
		require.Equal(t, "x", turn.Entries[0].Text)
	}
}

func TestAToolCallTakesOverEveryFieldOfItsUpdates(t *testing.T) {
	line := 3
	update := event.ToolCallFields{
		ToolCallID: "c", Title: "ls", Kind: event.ToolKind("read"), Status: event.ToolFailed, Content: json.RawMessage(`[1]`),
		Locations: []event.Location{{Path: "/a", Line: &line}}, RawInput: json.RawMessage(`{"a":1}`), RawOutput: json.RawMessage(`"out"`),
		Synthetic: true,
	}
	tr := fold(t,
		event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Title: "old", Status: event.ToolPending}},
		event.ToolCallUpdate{ToolCallFields: update},
	)
	require.Equal(t, &update, tr.Turns[0].Entries[0].Tool)
}

func TestAProblemAndTheTitleAreTold(t *testing.T) {
	tr := fold(t,
		event.Title{Title: "A name"},
		event.Error{Code: "x", Message: "It broke."},
		event.AgentExit{Reason: "killed"},
		event.AgentExit{Reason: "stdout_closed", Signal: "SIGTERM"},
		event.Corrupt{Reason: "half a line"},
	)
	require.Equal(t, "A name", tr.Title)
	var told []string
	for _, entry := range tr.Turns[0].Entries {
		require.Equal(t, transcript.Problem, entry.Kind)
		told = append(told, entry.Text)
	}
	require.Equal(t, []string{"It broke.", "the agent ended: killed", "the agent ended: it closed its standard output", "an event could not be read: half a line"}, told)
}

func TestAMergedEventStandsWhereItsFirstOneStood(t *testing.T) {
	var tr transcript.Transcript
	merged := numbered(t, 3, event.AgentMessage{MessageID: "m", Text: "abc"})
	merged.FirstSeq = 1
	require.NoError(t, tr.Apply(merged))
	require.Equal(t, event.Seq(1), tr.Turns[0].Entries[0].Seq)
}
