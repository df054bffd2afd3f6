package client_test

import (
	"encoding/json"
	"testing"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const epoch = "0123456789abcdef"

func events(first, last event.Seq) []event.Event {
	out := []event.Event{}
	for seq := first; seq <= last; seq++ {
		out = append(out, event.Event{Seq: seq, Type: event.TypeNote, Data: json.RawMessage(`{}`)})
	}
	return out
}

func live(first, last event.Seq) *wire.Events {
	return &wire.Events{SessionID: "s", Epoch: epoch, FirstSeq: first, LastSeq: last, MaxSeq: last, Events: events(first, last)}
}

func seqs(list []event.Event) []event.Seq {
	out := []event.Seq{}
	for _, e := range list {
		out = append(out, e.Seq)
	}
	return out
}

func TestEachEventIsAppliedOnceHoweverOftenItComes(t *testing.T) {
	h := client.NewHistory("s", client.Cursor{Epoch: epoch, Seq: 3})
	change, err := h.Apply(live(2, 5))
	require.NoError(t, err)
	require.Equal(t, []event.Seq{4, 5}, seqs(change.Events))
	change, err = h.Apply(live(4, 5))
	require.NoError(t, err)
	require.Empty(t, change.Events)
	require.Equal(t, 4, h.Dropped())
	require.Equal(t, event.Seq(5), h.Cursor().Seq)
}

func TestAGapIsAskedForOnceAndWhatCameAboveItIsHeld(t *testing.T) {
	h := client.NewHistory("s", client.Cursor{Epoch: epoch, Seq: 3})
	change, err := h.Apply(live(7, 8))
	require.NoError(t, err)
	require.Empty(t, change.Events)
	require.Equal(t, event.Seq(3), *change.Missing.AfterSeq)
	change, err = h.Apply(live(9, 9))
	require.NoError(t, err)
	require.Nil(t, change.Missing)
	change, err = h.Apply(&wire.EventsLoaded{SessionID: "s", Verdict: wire.VerdictOK, Epoch: epoch, Events: events(4, 6)})
	require.NoError(t, err)
	require.Equal(t, []event.Seq{4, 5, 6, 7, 8, 9}, seqs(change.Events))
	require.Nil(t, change.Missing)
	require.Equal(t, 1, h.Gaps())
}

func TestAResetForgetsAndBeginsAnew(t *testing.T) {
	h := client.NewHistory("s", client.Cursor{Epoch: epoch, Seq: 300})
	change, err := h.Apply(&wire.EventsLoaded{SessionID: "s", Verdict: wire.VerdictReset, Reason: wire.ResetAhead, Epoch: "fedcba9876543210", LastSeq: 9, Events: events(8, 9)})
	require.NoError(t, err)
	require.True(t, change.Reset)
	require.Equal(t, client.Cursor{Epoch: "fedcba9876543210", Seq: 9}, h.Cursor())
	_, err = h.Apply(live(10, 10))
	require.ErrorIs(t, err, client.ErrEpoch)
}

func TestAPageOfOlderEventsMovesNoCursor(t *testing.T) {
	h := client.NewHistory("s", client.Cursor{Epoch: epoch, Seq: 30})
	change, err := h.Apply(&wire.EventsLoaded{SessionID: "s", Verdict: wire.VerdictOK, Epoch: epoch, Prepend: true, LastSeq: 9, Events: events(8, 9)})
	require.NoError(t, err)
	require.Equal(t, []event.Seq{8, 9}, seqs(change.Older))
	require.Empty(t, change.Events)
	require.Equal(t, event.Seq(30), h.Cursor().Seq)
}

func TestAMergedRunThatReachesBackBehindTheCursorIsApplied(t *testing.T) {
	h := client.NewHistory("s", client.Cursor{Epoch: epoch, Seq: 30})
	run := &wire.Events{SessionID: "s", Epoch: epoch, Events: []event.Event{{Seq: 40, FirstSeq: 31}}}
	change, err := h.Apply(run)
	require.NoError(t, err)
	require.Equal(t, []event.Seq{40}, seqs(change.Events))
}

func TestFramesOfOtherSessionsChangeNothing(t *testing.T) {
	h := client.NewHistory("other", client.Cursor{Epoch: epoch, Seq: 3})
	change, err := h.Apply(live(4, 5))
	require.NoError(t, err)
	require.Equal(t, client.Change{}, change)
}

// TestAHistoryEndsWholeAfterAnyMessages feeds a history with frames that lose,
// repeat and overlap events at random. Each gap is answered later with a page of
// random length.
func TestAHistoryEndsWholeAfterAnyMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const end = 60
		h := client.NewHistory("s", client.Cursor{Epoch: epoch, Seq: 0})
		applied := []event.Event{}
		var asked *wire.LoadEvents
		take := func(change client.Change, err error) {
			require.NoError(t, err)
			applied = append(applied, change.Events...)
			if change.Missing != nil {
				require.Nil(t, asked, "asked twice at once")
				asked = change.Missing
			}
		}
		page := func() {
			after := *asked.AfterSeq
			asked = nil
			last := min(end, after+event.Seq(rapid.IntRange(1, 20).Draw(t, "page")))
			take(h.Apply(&wire.EventsLoaded{SessionID: "s", Verdict: wire.VerdictOK, Epoch: epoch, Events: events(after+1, last)}))
		}
		for range 20 {
			first := event.Seq(rapid.IntRange(1, end).Draw(t, "first"))
			take(h.Apply(live(first, min(end, first+event.Seq(rapid.IntRange(0, 10).Draw(t, "length"))))))
			if asked != nil && rapid.Bool().Draw(t, "answered") {
				page()
			}
		}
		take(h.Apply(live(end, end)))
		for asked != nil {
			page()
		}
		require.Equal(t, seqs(events(1, end)), seqs(applied))
	})
}
