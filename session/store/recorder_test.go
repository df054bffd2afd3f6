package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func TestARemovedLockFileLetsNoSecondHubIn(t *testing.T) {
	dir := t.TempDir()
	first, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "LOCK")))
	_, err = store.Open(dir, store.Options{})
	var locked *store.LockedError
	require.ErrorAs(t, err, &locked)
	require.NoError(t, first.Close())
	require.NoError(t, open(t, dir, store.Options{}).Close())
}

func TestWhatIsNoDirectoryIsNoSessionForARunningHubEither(t *testing.T) {
	dir := t.TempDir()
	hub := open(t, dir, store.Options{})
	root := filepath.Join(dir, "sessions")
	require.NoError(t, os.WriteFile(filepath.Join(root, "20260101-000000-0000000a"), nil, 0o600))
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "20260101-000000-0000000b"), 0o600))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(root, "20260101-000000-0000000c")))
	// News comes in order: once this one is there, those before were looked at.
	require.NoError(t, os.Mkdir(filepath.Join(root, "20260101-000000-0000000d"), 0o700))
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(hub.List(), func(m store.Metadata) bool { return strings.HasSuffix(m.SessionID, "d") })
	}, patience, time.Millisecond)
	require.Len(t, hub.List(), 1)
}

func TestAHubFollowsWhatAnotherProcessRecordsAndTakesItOver(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	hub := open(t, dir, store.Options{})
	r, err := store.OpenRecorder(dir, store.Options{SegmentBytes: 4 << 10})
	require.NoError(t, err)
	changed := hub.Changed()
	recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	<-changed // by fsnotify
	require.Len(t, hub.List(), 1)

	l, err := hub.Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, l.ReadOnly())
	_, _, err = l.Append(ctx, message("no"))
	require.ErrorIs(t, err, store.ErrReadOnly)
	require.ErrorIs(t, hub.Delete(ctx, l.ID()), store.ErrReadOnly)

	const n = 300 // over several files
	sink := &collector{until: n}
	followed := make(chan error, 1)
	go func() { followed <- observer.New(l, sink, 0, 2<<10).Run(ctx) }()
	for i := range n {
		_, _, err := recorded.Append(ctx, message("live"))
		require.NoError(t, err)
		if i%50 == 0 {
			recorded.UpdateMetadata(func(m *store.Metadata) { m.Name = "recorded" })
			require.NoError(t, recorded.FlushMetadata(ctx))
		}
	}
	require.ErrorIs(t, <-followed, errDone)
	require.Eventually(t, func() bool { return l.Metadata().Name == "recorded" }, patience, 5*time.Millisecond)

	health := l.HealthChanged()
	require.NoError(t, r.Close())
	<-health
	require.False(t, l.ReadOnly())
	require.Equal(t, recorded.Epoch(), l.Epoch())
	requireAppends(t, l)
	require.NoError(t, hub.Close())
	requireSound(t, dir)
}

func TestTwoRecordersAndAHubNeverWriteOneSession(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	r, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	l, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	appendN(t, l, 5)
	hub := open(t, dir, store.Options{}) // finds it at its start
	again, err := hub.Log(ctx, l.ID())
	require.NoError(t, err)
	require.True(t, again.ReadOnly())
	require.Eventually(t, func() bool { return len(readAll(t, again)) == 6 }, patience, time.Millisecond)
	require.NoError(t, hub.Close())
	requireAppends(t, l)
	require.NoError(t, r.Close())
	requireSound(t, dir)
}

func TestAHubHearsOfSessionsThatGo(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	hub := open(t, dir, store.Options{})
	r, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	changed := hub.Changed()
	l, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	<-changed
	require.NoError(t, r.Close())
	require.Eventually(t, func() bool { return len(hub.List()) == 1 && hub.List()[0].Writer == nil }, patience, 5*time.Millisecond)
	path, err := hub.SessionDir(l.ID())
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(path))
	require.Eventually(t, func() bool { return len(hub.List()) == 0 }, patience, 5*time.Millisecond)
	_, err = hub.Log(ctx, l.ID())
	require.True(t, errors.Is(err, store.ErrNotFound))
	_, err = r.Create(ctx, event.SessionStart{})
	require.ErrorIs(t, err, store.ErrClosed)
}

func TestAHubThatStartsLeavesASessionAloneThatIsJustBeingMade(t *testing.T) {
	for _, step := range []string{"create", "lock", "write", "datasync", "rename", "syncdir"} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, open(t, dir, store.Options{}).Close())
			f := &faultFS{FS: store.OS()}
			r, err := store.OpenRecorder(dir, store.Options{FS: f})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.Close()) })
			started := false
			f.hold(step, func() { // right before each step of that kind
				s, err := store.Open(dir, store.Options{})
				require.NoError(t, err)
				require.NoError(t, s.Close())
				started = true
			})
			l, err := r.Create(context.Background(), event.SessionStart{Agent: "demo", Workspace: "/w"})
			f.hold(step, nil)
			require.NoError(t, err)
			require.True(t, started)
			require.Len(t, readAll(t, l), 1)
			hub := open(t, dir, store.Options{})
			_, err = hub.Log(context.Background(), l.ID())
			require.NoError(t, err)
		})
	}
}
