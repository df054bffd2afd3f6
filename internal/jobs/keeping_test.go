package jobs_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestAJobGoesIntoTheTrashWhenItsRetentionIsOver(t *testing.T) {
	for name, trash := range map[string]time.Duration{"into the trash": 365 * 24 * time.Hour, "without a trash": 0} {
		t.Run(name, func(t *testing.T) {
			var ahead atomic.Int64
			o := options{sweep: time.Millisecond, trash: trash, clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
			o.inRepository(t)
			h := start(t, o)
			job := func(kept event.JobRetention, task string, change ...func(*session.CreateRequest)) string {
				id := h.job(event.Job{Task: task, Retention: kept}, change...)
				h.ended(id)
				return id
			}
			day, week, failed := job(event.KeepDay, "say done"), job(event.KeepWeek, "say done"), job(event.KeepDay, "fail")
			merged := job(event.KeepDay, "say nothing changed", inCopy)
			on := true
			stay := map[string]string{
				"no retention": job("", "say done"), "forever": job(event.KeepForever, "say done"), "changes in its copy": job(event.KeepDay, "edit a.txt\nsay done", inCopy),
				"pinned": job(event.KeepDay, "say done"), "commented": job(event.KeepDay, "say done"),
			}
			require.NoError(t, h.manager.Update(t.Context(), stay["pinned"], session.Patch{Pinned: &on}))
			b, err := h.manager.Session(t.Context(), stay["commented"])
			require.NoError(t, err)
			_, err = b.Comments().Add(state.Comment{CommentID: "c1", FromSeq: 1, Text: "why?", By: "ann"}, false)
			require.NoError(t, err)

			gone := func(ids ...string) func() bool {
				return func() bool { return !slices.ContainsFunc(ids, h.manager.Listed) }
			}
			ahead.Store(int64(24*time.Hour + time.Minute))
			require.Eventually(t, gone(day, failed, merged), patience, time.Millisecond)
			require.True(t, h.manager.Listed(week))
			ahead.Store(int64(8 * 24 * time.Hour))
			require.Eventually(t, gone(week), patience, time.Millisecond) // the look before is over
			for why, id := range stay {
				require.True(t, h.manager.Listed(id), why)
			}
			deleted, err := h.manager.Trashed()
			require.NoError(t, err)
			if trash == 0 {
				require.Empty(t, deleted)
				return
			}
			require.Len(t, deleted, 4)
			ahead.Store(0)
			require.NoError(t, h.manager.Restore(t.Context(), merged, ann))
			require.Contains(t, h.copies(), merged, "its copy stayed")
		})
	}
}
