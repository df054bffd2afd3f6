package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// pageBound is the size limit of a page with more than one event.
const pageBound = 256 << 10

func TestAPageIsTheNewestQuarterOfAMiBWhateverIsAskedFor(t *testing.T) {
	for name, o := range map[string]store.Options{
		"from memory":        {TailBytes: 4 << 20},
		"from the file":      {TailBytes: 8 << 10},
		"from several files": {TailBytes: 8 << 10, SegmentBytes: 100 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			l := create(t, open(t, t.TempDir(), o))
			for i := range 800 {
				_, _, err := l.Append(ctx, message(fmt.Sprint(i, strings.Repeat("x", i%2000))))
				require.NoError(t, err)
			}
			last := l.Marks().Visible
			for _, before := range []event.Seq{0, last, last / 2} {
				for _, limit := range []int{300, 800, 1_000_000} {
					bound := last
					if before > 0 {
						bound = before - 1
					}
					page, err := l.ReadBefore(ctx, before, limit)
					require.NoError(t, err)
					require.Equal(t, bound, page.Last, "the page must end with the newest event")
					require.LessOrEqual(t, len(page.JSON), pageBound)
					events, err := page.Events()
					require.NoError(t, err)
					require.Len(t, events, page.Count)
					require.Equal(t, page.First, events[0].Seq)
					if page.First > max(1, bound-event.Seq(limit)+1) { // limited by its bytes
						older, err := l.ReadBefore(ctx, page.First, 1)
						require.NoError(t, err)
						require.Greater(t, len(page.JSON)+1+len(older.JSON), pageBound, "there was space for another event")
					}
				}
			}
		})
	}
}

func TestAnEventLargerThanAPageIsAPageOfItsOwn(t *testing.T) {
	ctx := context.Background()
	half := strings.Repeat("x", 200<<10) // small enough not to become a blob
	large := event.Draft{Type: event.TypeNote, Data: []byte(`{"a":"` + half + `","b":"` + half + `"}`)}
	for name, tail := range map[string]int{"from memory": 4 << 20, "from the file": 8 << 10} {
		t.Run(name, func(t *testing.T) {
			l := create(t, open(t, t.TempDir(), store.Options{TailBytes: tail}))
			_, _, err := l.Append(ctx, message("before"), large, message("after"))
			require.NoError(t, err)
			page, err := l.ReadBefore(ctx, 4, 10)
			require.NoError(t, err)
			require.Equal(t, []event.Seq{3, 3}, []event.Seq{page.First, page.Last})
			require.Greater(t, len(page.JSON), pageBound)
			page, err = l.ReadBefore(ctx, 0, 10)
			require.NoError(t, err)
			require.Equal(t, []event.Seq{4, 4}, []event.Seq{page.First, page.Last}, "the event must be alone in its page")
		})
	}
}

func TestAPageThatRetentionOvertakesIsWhatIsLeft(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{SegmentBytes: 2000, TailBytes: 1})
	appendN(t, l, 100)
	last := l.Marks().Visible
	var first event.Seq
	f.hold("read", func() { // a page is read from its oldest event on
		if first != 0 {
			return
		}
		first = -1 // retention should not read, but the test must not depend on it
		var err error
		first, err = l.Retain(ctx, 6000)
		require.NoError(t, err)
	})
	page, err := l.ReadBefore(ctx, 0, 1000)
	require.NoError(t, err)
	require.Greater(t, first, event.Seq(10), "retention must have removed events meanwhile")
	require.Equal(t, []event.Seq{first, last}, []event.Seq{page.First, page.Last})
	events, err := page.Events()
	require.NoError(t, err)
	require.Len(t, events, int(last-first)+1)
	f.hold("read", nil)
	page, err = l.ReadBefore(ctx, first, 10)
	require.NoError(t, err)
	require.True(t, page.Empty(), "a page before the first event must be empty")
	require.NoError(t, s.Close())
}
