package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func TestATimeIsFoundByTheLatestTimeSoFarThoughTheClockWentBack(t *testing.T) {
	at := time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)
	l := create(t, open(t, t.TempDir(), store.Options{SegmentBytes: 2 << 10, TailBytes: 1 << 10, Now: func() time.Time { return at }}))
	for i := range 60 {
		second := i * 10
		if i%7 == 3 {
			second -= 35
		}
		draft, err := event.NewDraft(event.AgentMessage{MessageID: "m", Text: "a word or two"}, 1, at.Add(time.Duration(second)*time.Second))
		require.NoError(t, err)
		_, _, err = l.Append(t.Context(), draft)
		require.NoError(t, err)
	}
	var seconds []int // of every event, including the log's own
	for after := event.Seq(0); after < l.Marks().Visible; {
		b, err := l.ReadAfter(t.Context(), after, 1<<20)
		require.NoError(t, err)
		events, err := b.Events()
		require.NoError(t, err)
		for _, e := range events {
			seconds = append(seconds, int(e.Time.Sub(at)/time.Second))
		}
		after = b.Last
	}
	require.False(t, slices.IsSorted(seconds))
	for asked := -1; asked <= 600; asked++ {
		want := event.Seq(0)
		for i, second := range seconds {
			if second >= asked {
				want = event.Seq(i + 1)
				break
			}
		}
		got, found, err := l.SeqAt(t.Context(), at.Add(time.Duration(asked)*time.Second))
		require.NoError(t, err)
		require.Equal(t, want, got, "at %d s", asked)
		require.Equal(t, want > 0, found, "at %d s", asked)
	}
}
