package session_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// withTrash keeps deleted sessions for an hour.
func withTrash(o *session.Options, _ *store.Options) { o.TrashFor = time.Hour }

func inTrash(h *hub) (ids []string) {
	h.t.Helper()
	all, err := h.manager.Trashed()
	require.NoError(h.t, err)
	for _, one := range all {
		ids = append(ids, one.SessionID)
		require.Equal(h.t, one.At.Add(time.Hour), one.Until)
		require.Positive(h.t, one.Bytes)
	}
	return ids
}

func listedIDs(h *hub) (ids []string) {
	h.t.Helper()
	page, err := h.manager.List(list.Options{Status: "all"})
	require.NoError(h.t, err)
	for _, one := range page.Sessions {
		ids = append(ids, one.SessionID)
	}
	return ids
}

// A session is deleted while its agent works and a prompt waits.
func TestADeletedSessionIsWholeInOnePlaceWhereverTheHubIsKilled(t *testing.T) {
	var id string
	begin := func(h *hub) {
		b, _ := h.busy()
		h.agents.onCancel = func(a *fakeAgent) { _ = a.end(promptID(0), event.StopCancelled) }
		prompt(h.t, b, "waits")
		name := "kept"
		require.NoError(h.t, h.manager.Update(ctxOf(h.t), b.ID(), session.Patch{Name: &name}))
		id = b.ID()
	}
	remove := func(h *hub) { require.NoError(h.t, h.manager.Trash(ctxOf(h.t), id, person("ann"))) }
	restore := func(h *hub) { require.NoError(h.t, h.manager.Restore(ctxOf(h.t), id, person("ann"))) }
	check := func(h *hub, where string) {
		if where == "trash" {
			require.Equal(h.t, []string{id}, inTrash(h))
			require.Empty(h.t, listedIDs(h))
			_, err := h.manager.Session(ctxOf(h.t), id)
			require.ErrorIs(h.t, err, state.ErrNotFound)
			restore(h)
		}
		require.Empty(h.t, inTrash(h))
		require.ErrorIs(h.t, h.manager.Restore(ctxOf(h.t), id, person("ann")), state.ErrNotFound)
		require.Equal(h.t, []string{id}, listedIDs(h))
		b := h.session(id)
		require.Equal(h.t, "kept", b.Info().Name)
		require.True(h.t, b.Info().Resumable)
		require.Len(h.t, b.Queue(), 1)
		require.Len(h.t, payloads[event.TurnEnd](h.t, b), 1)
		require.Empty(h.t, h.agents.started, "nothing continues by itself")
	}
	place := func(h *hub) string {
		if len(inTrash(h)) > 0 {
			return "trash"
		}
		return "list"
	}
	t.Run("before it is in the trash", func(t *testing.T) {
		killedBetweenSteps(t, begin, remove, []string{"write events.jsonl", "mkdir trash", "the end"}, func(h *hub, was bool) {
			where := place(h)
			if was {
				require.Equal(h.t, "trash", where, "a deletion that was answered is undone")
			}
			check(h, where)
		})
	})
	t.Run("before it is back", func(t *testing.T) {
		killedBetweenSteps(t, func(h *hub) { begin(h); remove(h) }, restore, []string{"the end"}, func(h *hub, was bool) {
			where := place(h)
			if was {
				require.Equal(h.t, "list", where, "a restore that was answered is undone")
			}
			check(h, where)
		})
	})
}

// In a hub whose queues continue after an interruption, and whose turns are resumed by
// themselves.
func TestARestoredSessionWaitsForAPerson(t *testing.T) {
	h := newHub(t, withTrash, func(o *session.Options, _ *store.Options) { o.Agents[0].Resume.Auto = true })
	b, _ := h.busy()
	h.agents.onCancel = func(a *fakeAgent) { _ = a.end(promptID(0), event.StopCancelled) }
	prompt(t, b, "waits")
	require.NoError(t, h.manager.Trash(ctxOf(t), b.ID(), person("ann")))
	_, gone, since := h.manager.ChangesSince(0)
	require.Equal(t, []string{b.ID()}, gone)
	require.NoError(t, h.manager.Restore(ctxOf(t), b.ID(), person("ann")))
	changed, gone, _ := h.manager.ChangesSince(since)
	require.Len(t, changed, 1)
	require.Empty(t, gone)
	back := h.session(b.ID())
	require.Equal(t, "ann", back.State().Paused.By)
	require.Equal(t, state.StatusPaused, back.Info().Status)
	require.Len(t, back.Queue(), 1)
	require.Empty(t, h.agents.started)
}

// What is in the trash goes by the days of now: with 0 all of it is due.
func TestWithoutATrashWhatLiesThereGoes(t *testing.T) {
	h := newHub(t, withTrash, func(o *session.Options, _ *store.Options) { o.SweepEvery = time.Millisecond })
	b, kept := h.create(), h.create()
	require.NoError(t, h.manager.Trash(ctxOf(t), b.ID(), person("ann")))
	require.Equal(t, []string{b.ID()}, inTrash(h))
	s := *h.manager.Settings()
	s.TrashFor = 0
	require.NoError(t, h.manager.Configure(s))
	require.Eventually(t, func() bool {
		all, err := h.manager.Trashed()
		return err == nil && len(all) == 0
	}, patience, time.Millisecond)
	require.ErrorIs(t, h.manager.Restore(ctxOf(t), b.ID(), person("ann")), state.ErrNotFound)
	require.Equal(t, []string{kept.ID()}, listedIDs(h))
}

func TestWhatWasLongInTheTrashIsRemovedWithItsStates(t *testing.T) {
	root := workspace(t)
	var ahead atomic.Int64
	h := newHub(t, withUndo(t, root), withTrash, func(o *session.Options, _ *store.Options) {
		o.Now, o.SweepEvery = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, time.Millisecond
	})
	b := create(t, h, root)
	work(t, h, b, nil, "p1", func() { put(t, root, "greet.go", "good evening") })
	require.NoError(t, h.manager.Trash(ctxOf(t), b.ID(), person("ann")))
	refs := filepath.Join(root, ".git/refs/abide")
	require.DirExists(t, filepath.Join(refs, b.ID()))
	require.Equal(t, []string{b.ID()}, inTrash(h))
	ahead.Store(int64(time.Hour + time.Minute))
	require.Eventually(t, func() bool {
		_, err := os.Stat(refs)
		return os.IsNotExist(err) && len(inTrash(h)) == 0
	}, patience, time.Millisecond)
	require.ErrorIs(t, h.manager.Restore(ctxOf(t), b.ID(), person("ann")), state.ErrNotFound)
	require.ErrorIs(t, h.manager.Purge(ctxOf(t), b.ID()), state.ErrNotFound)
}
