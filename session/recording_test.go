package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/recorded"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

func reportsOf(t *testing.T, payloads ...event.Payload) []recorded.Event {
	t.Helper()
	var batch []recorded.Event
	for _, p := range payloads {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		batch = append(batch, recorded.Event{Type: p.EventType(), Data: data})
	}
	return batch
}

func (h *hub) recording() session.Recording {
	h.t.Helper()
	r, err := h.manager.Record(ctxOf(h.t), session.CreateRequest{Agent: "someone's", Workspace: h.t.TempDir(), Actor: person("ann"), Key: "k"})
	require.NoError(h.t, err)
	return r
}

func TestARecorderWritesEachBatchOnceAlsoOverACrashOfTheHub(t *testing.T) {
	h := newHub(t)
	r := h.recording()
	again, err := h.manager.Record(ctxOf(t), session.CreateRequest{Agent: "someone's", Workspace: r.Session.Log().Metadata().Workspace, Actor: person("ann"), Key: "k"})
	require.NoError(t, err)
	require.Equal(t, r.RecorderID, again.RecorderID)

	first := reportsOf(t, event.UserPrompt{PromptID: "p1", Text: "hi"}, event.TurnStart{PromptID: "p1"}, message("hello"))
	put := func(b *session.BackgroundSession, after event.Seq, batch []recorded.Event) (event.Seq, error) {
		return b.Record(ctxOf(t), r.RecorderID, after, batch)
	}
	last, err := put(r.Session, r.MaxSeq, first)
	require.NoError(t, err)
	require.Equal(t, r.MaxSeq+3, last)
	same, err := put(r.Session, r.MaxSeq, first)
	require.NoError(t, err)
	require.Equal(t, last, same)
	_, err = put(r.Session, r.MaxSeq, reportsOf(t, message("another")))
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = r.Session.Record(ctxOf(t), "guess", last, nil)
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = put(r.Session, last, reportsOf(t, event.UserPrompt{PromptID: "p2", Text: "hi"}))
	require.ErrorIs(t, err, state.ErrInvalid, "a turn is open")
	_, err = put(r.Session, last, reportsOf(t, event.Note{Method: "abide/rule_added"}))
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = r.Session.Prompt(ctxOf(t), ask("p9"))
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorIs(t, r.Session.Cancel(ctxOf(t), person("ann")), state.ErrConflict)

	// The hub is killed and restarted. It may have written a part of the batch.
	next := h.copyOf(t).session(r.Session.ID())
	more := append(first, reportsOf(t, toolCall("t1", event.ToolInProgress))...)
	last, err = put(next, r.MaxSeq, more)
	require.NoError(t, err)
	require.Equal(t, r.MaxSeq+4, last)
	require.Empty(t, payloads[event.TurnEnd](t, next), "the recording must stay open")

	// An answer may have been lost: a batch is answered as before, also after later ones
	// and after the end.
	answeredAsBefore := func() {
		for _, batch := range [][]recorded.Event{first, first[:1], more} {
			same, err := put(next, r.MaxSeq, batch)
			require.NoError(t, err)
			require.Equal(t, r.MaxSeq+event.Seq(len(batch)), same)
		}
		_, err := put(next, r.MaxSeq+1, first)
		require.ErrorIs(t, err, state.ErrConflict)
	}
	answeredAsBefore()
	require.NoError(t, next.EndRecording(ctxOf(t), r.RecorderID, "the agent ended", person("ann")))
	answeredAsBefore()
	require.NoError(t, next.EndRecording(ctxOf(t), r.RecorderID, "the agent ended", person("ann")))
	require.Equal(t, state.StatusEnded, next.Info().Status)
	require.Equal(t, []event.SessionEnd{{Reason: "the agent ended", By: "ann", ByID: "id-ann"}}, payloads[event.SessionEnd](t, next))
	require.Len(t, payloads[event.AgentMessage](t, next), 1)
	requireLawful(t, next, true)
	_, err = put(next, last, reportsOf(t, message("late")))
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = next.Prompt(ctxOf(t), ask("p9"))
	require.ErrorIs(t, err, state.ErrConflict, "the hub may start no agent in that directory")
}

func TestASessionWhoseRecorderGoesSilentIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		r := h.recording()
		_, err := r.Session.Record(ctxOf(t), r.RecorderID, r.MaxSeq, reportsOf(t,
			event.UserPrompt{PromptID: "p1", Text: "hi"}, toolCall("t1", event.ToolInProgress), question("q1")))
		require.NoError(t, err)
		time.Sleep(29 * time.Second)
		_, err = r.Session.Record(ctxOf(t), r.RecorderID, 0, nil) // a heartbeat
		require.NoError(t, err)
		time.Sleep(29 * time.Second)
		require.Empty(t, payloads[event.SessionEnd](t, r.Session))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, "hub", payloads[event.SessionEnd](t, r.Session)[0].By)
		requireLawful(t, r.Session, true)
		require.Equal(t, state.StatusEnded, r.Session.Info().Status)
	})
}

// TestARecordingPlacesItsEventsInTheSameTurnsWithAndWithoutAHub reuses tool call
// ids in a later turn, and sends updates after the end of their turn, within a
// batch and across batches.
func TestARecordingPlacesItsEventsInTheSameTurnsWithAndWithoutAHub(t *testing.T) {
	turn := func(id string) event.Payload { return event.UserPrompt{PromptID: id, Text: "go"} }
	over := func(id string) event.Payload {
		return event.TurnEnd{PromptID: id, StopReason: event.StopEndTurn}
	}
	update := func(id string, status event.ToolStatus) event.Payload {
		return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: id, Status: status}}
	}
	batches := [][]event.Payload{
		{turn("p1"), toolCall("a", event.ToolInProgress), toolCall("b", event.ToolInProgress), update("a", event.ToolCompleted), over("p1"),
			turn("p2"), toolCall("a", event.ToolInProgress), update("a", event.ToolCompleted), update("b", event.ToolCompleted)},
		{message("so"), over("p2"), turn("p3"), update("b", event.ToolFailed), toolCall("a", event.ToolInProgress), toolCall("open", event.ToolInProgress)},
	}
	turns := [][]int{{1, 1, 1, 1, 1, 2, 2, 2, 1}, {2, 2, 3, 1, 3, 3}}
	h := newHub(t)
	r := h.recording()
	dir := t.TempDir()
	recorder, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	log, err := recorder.Create(ctxOf(t), event.SessionStart{Agent: "someone's"})
	require.NoError(t, err)
	offline, err := recorded.StartOffline(ctxOf(t), log, person("ann"))
	require.NoError(t, err)
	last := r.MaxSeq
	for _, batch := range batches {
		last, err = r.Session.Record(ctxOf(t), r.RecorderID, last, reportsOf(t, batch...))
		require.NoError(t, err)
		require.NoError(t, offline.Record(ctxOf(t), reportsOf(t, batch...)))
	}
	require.ErrorIs(t, offline.Record(ctxOf(t), reportsOf(t, turn("p4"))), state.ErrInvalid, "a turn is open")
	require.NoError(t, r.Session.EndRecording(ctxOf(t), r.RecorderID, "the agent ended", person("ann")))
	require.NoError(t, offline.End(ctxOf(t), "the agent ended", person("ann")))

	told := func(log journal.Log) (told []string) {
		for after := event.Seq(0); ; {
			batch, through, err := log.ReadWritten(ctxOf(t), after, 1<<20)
			require.NoError(t, err)
			if through == after {
				return told
			}
			events, err := batch.Events()
			require.NoError(t, err)
			for _, e := range events {
				switch e.Type {
				case event.TypeSessionStart, event.TypeNote:
				default:
					told = append(told, fmt.Sprint(e.Turn, " ", e.Type, " ", string(e.Data)))
				}
			}
			after = through
		}
	}
	written := told(log)
	require.Equal(t, told(r.Session.Log()), written)
	for i, want := range slices.Concat(turns...) {
		require.True(t, strings.HasPrefix(written[i], fmt.Sprint(want, " ")), "turn %d: %s", want, written[i])
	}
	require.NoError(t, recorder.Close())
}
