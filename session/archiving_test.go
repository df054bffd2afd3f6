package session_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/space"
	"github.com/abidehub/abide/session/store"
)

// Old sessions are archived, but for those that run, wait or are pinned; one that a person
// takes out again stays until it is old once more.
func TestOldSessionsAreArchived(t *testing.T) {
	ahead := &atomic.Int64{}
	h := newHub(t, withTrash, aheadOf(ahead), func(o *session.Options, _ *store.Options) {
		o.Space.ArchiveAfter, o.SweepEvery = month, time.Millisecond
	})
	goes, stays := everyKind(h, 3)
	archived := func(id string) bool {
		info, err := h.manager.Info(ctxOf(t), id)
		require.NoError(t, err)
		return info.Archived
	}
	all := func(is bool) func() bool {
		return func() bool {
			for _, id := range goes {
				if archived(id) != is {
					return false
				}
			}
			return true
		}
	}
	ahead.Store(int64(2 * month))
	require.Eventually(t, all(true), patience, time.Millisecond)
	for id, why := range stays {
		if why == space.Pinned || why == space.Waiting || why == space.Running || why == space.Resumable {
			require.False(t, archived(id), why)
		}
	}

	no := false
	ahead.Store(0)
	before, err := h.manager.Info(ctxOf(t), goes[0])
	require.NoError(t, err)
	require.NoError(t, h.manager.Update(ctxOf(t), goes[0], session.Patch{Archived: &no, By: person("ann")}))
	after, err := h.manager.Info(ctxOf(t), goes[0])
	require.NoError(t, err)
	require.False(t, after.Archived)
	require.True(t, after.UpdatedAt.After(before.UpdatedAt), "its age begins again, with an event of its log")
	require.Equal(t, before.MaxSeq+1, after.MaxSeq)
}
