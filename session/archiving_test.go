package session_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
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

// The logs of archived sessions are compressed; they are found, read and continued as before.
func TestLogsOfArchivedSessionsAreCompressed(t *testing.T) {
	h := newDiskHub(t, func(o *session.Options, _ *store.Options) {
		o.Space.CompressArchived, o.SweepEvery = true, time.Millisecond
	})
	b, a := h.busy()
	for range 40 {
		require.NoError(t, a.say(event.AgentMessage{MessageID: "m", Text: event.Text(strings.Repeat("a long and winding sentence ", 200))}))
	}
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	dir := filepath.Join(h.dir, "sessions", b.ID())
	packed := func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*.zst"))
		require.NoError(t, err)
		return len(files) > 0
	}
	require.False(t, packed())
	before := events(t, b)
	yes := true
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Archived: &yes}))
	require.Eventually(t, packed, patience, time.Millisecond)
	b = h.session(b.ID())
	require.Equal(t, before, events(t, b)[:len(before)])
	require.Equal(t, queue.Received, prompt(t, b, promptID(1)).Outcome)
	require.Greater(t, len(events(t, b)), len(before)+1)
}
