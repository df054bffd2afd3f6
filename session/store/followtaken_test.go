package store_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// takenFromRecorder is a session that a hub follows, whose recorder was killed after
// somebody did something with its file.
func takenFromRecorder(t *testing.T, take func(d disk)) (d disk, hub *store.Store, l *store.Log, before []event.Event) {
	t.Helper()
	d = recorded(t, 10)
	recorder, err := os.OpenFile(d.path("events.jsonl"), os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(recorder.Fd()), syscall.LOCK_EX))
	hub, err = store.Open(d.root, store.Options{FollowEvery: soonFollowed})
	require.NoError(t, err)
	l, err = hub.Log(context.Background(), d.id)
	require.NoError(t, err)
	require.True(t, l.ReadOnly())
	before = readAll(t, l)
	require.Len(t, before, 10)
	take(d)
	require.NoError(t, recorder.Close())
	return d, hub, l, before
}

var takings = map[string]func(d disk){
	"removed": func(d disk) { require.NoError(d.t, os.Remove(d.path("events.jsonl"))) },
	"replaced": func(d disk) {
		lines := d.lines()
		require.NoError(d.t, os.Remove(d.path("events.jsonl")))
		d.setLines(lines[:6])
	},
}

func TestAFollowedFileThatWasTakenIsToldAndPutBackByReopening(t *testing.T) {
	for name, take := range takings {
		t.Run(name, func(t *testing.T) {
			d, hub, l, before := takenFromRecorder(t, take)
			require.Eventually(t, func() bool { return l.Health().State == store.HealthFrozen }, patience, time.Millisecond)
			require.Contains(t, l.Health().Taken, "removed or replaced by somebody")
			require.Equal(t, before, readAll(t, l), "it can still be read")
			_, _, err := l.Append(context.Background(), message("no"))
			require.ErrorIs(t, err, store.ErrFrozen)
			require.NoError(t, l.Reopen(context.Background()))
			require.False(t, l.ReadOnly())
			require.Equal(t, store.HealthOK, l.Health().State)
			require.Equal(t, before, readAll(t, l)[:len(before)])
			requireAppends(t, l)
			kept, err := filepath.Glob(d.path("quarantine/replaced-*"))
			require.NoError(t, err)
			require.Len(t, kept, map[string]int{"removed": 0, "replaced": 1}[name])
			require.NoError(t, hub.Close())
			requireSound(t, d.root)
		})
	}
}

func TestAHubThatEndsKeepsTheFollowedFileThatWasTaken(t *testing.T) {
	for name, take := range takings {
		t.Run(name, func(t *testing.T) {
			d, hub, l, before := takenFromRecorder(t, take)
			require.Eventually(t, func() bool { return l.Health().State == store.HealthFrozen }, patience, time.Millisecond)
			whole := before[len(before)-1].Seq
			require.ErrorIs(t, hub.Close(), store.ErrFrozen)
			if name == "removed" {
				require.Len(t, d.lines(), int(whole), "it is in its place again")
				return
			}
			require.Len(t, d.lines(), 6, "what a person put there stays")
			kept, err := filepath.Glob(d.path("quarantine/taken-*"))
			require.NoError(t, err)
			require.Len(t, kept, 1)
		})
	}
}

// Moved away and back under a hub that follows, it is only reopened.
func TestAFollowedFileThatCameBackIsTakenOver(t *testing.T) {
	aside := filepath.Join(t.TempDir(), "aside")
	d, hub, l, before := takenFromRecorder(t, func(d disk) { require.NoError(t, os.Rename(d.path("events.jsonl"), aside)) })
	require.Eventually(t, func() bool { return l.Health().State == store.HealthFrozen }, patience, time.Millisecond)
	require.NoError(t, os.Rename(aside, d.path("events.jsonl")))
	require.NoError(t, l.Reopen(context.Background()))
	require.Equal(t, before, readAll(t, l)[:len(before)])
	requireAppends(t, l)
	require.NoDirExists(t, d.path("quarantine"))
	require.NoError(t, hub.Close())
	requireSound(t, d.root)
}
