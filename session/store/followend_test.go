package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// soonFollowed looks often, so that tests need not wait.
const soonFollowed = 5 * time.Millisecond

// orphaned is a session whose recorder has gone and left half a line, as a hub
// with the file system f finds it that has followed it.
func orphaned(t *testing.T, f *faultFS, spoil func(dir string)) (hub *store.Store, l *store.Log, dir string) {
	t.Helper()
	ctx := context.Background()
	root := t.TempDir()
	r, err := store.OpenRecorder(root, store.Options{})
	require.NoError(t, err)
	recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	appendN(t, recorded, 5)
	hub = open(t, root, store.Options{FS: f, FollowEvery: soonFollowed})
	l, err = hub.Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, l.ReadOnly())
	require.Eventually(t, func() bool { return l.Marks().Visible == 6 }, patience, time.Millisecond)
	dir, err = hub.SessionDir(l.ID())
	require.NoError(t, err)
	spoil(dir)
	file, err := os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"seq":7,"time`)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, r.Close())
	return hub, l, dir
}

func requireFrozen(t *testing.T, l *store.Log) {
	t.Helper()
	require.Eventually(t, func() bool { return l.Health().State == store.HealthFrozen }, patience, time.Millisecond)
	require.Len(t, readAll(t, l), 6, "it can still be read")
	_, _, err := l.Append(context.Background(), message("no"))
	require.ErrorIs(t, err, store.ErrFrozen, "nobody else writes it")
	require.NotErrorIs(t, err, store.ErrReadOnly)
}

func TestASessionThatCannotBeTakenOverIsAsSoonAsWhatIsInTheWayIsGone(t *testing.T) {
	obstacle := ""
	_, l, dir := orphaned(t, &faultFS{FS: store.OS()}, func(dir string) {
		obstacle = filepath.Join(dir, "quarantine")
		require.NoError(t, os.WriteFile(obstacle, nil, 0o600))
	})
	requireFrozen(t, l)
	require.ErrorIs(t, l.Reopen(context.Background()), store.ErrFrozen, "nothing has changed")
	requireFrozen(t, l)
	require.NoError(t, os.Remove(obstacle))
	require.Eventually(t, func() bool { return !l.ReadOnly() }, patience, time.Millisecond, "without anybody asking")
	require.Equal(t, store.HealthOK, l.Health().State)
	requireAppends(t, l)
	kept, err := filepath.Glob(filepath.Join(dir, "quarantine", "torn-*"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
}

func TestASessionWhoseTakeOverTheDeviceFailedIsReopenedByAPerson(t *testing.T) {
	ctx := context.Background()
	for _, op := range []string{"truncate", "datasync", "read"} {
		t.Run(op, func(t *testing.T) {
			f := &faultFS{FS: store.OS()}
			var failing atomic.Bool
			var met atomic.Int64
			hub, l, _ := orphaned(t, f, func(string) {
				failing.Store(true)
				f.set(func(_ int, did, name string) error {
					if failing.Load() && did == op && filepath.Base(name) == "events.jsonl" {
						met.Add(1)
						return syscall.EIO
					}
					return nil
				})
			})
			require.Eventually(t, func() bool { return l.Health().State == store.HealthFrozen }, patience, time.Millisecond)
			tried := met.Load()
			require.Never(t, func() bool { return met.Load() > tried }, 20*soonFollowed, soonFollowed, "the device is not asked again")
			if op == "datasync" {
				require.NoError(t, l.Reopen(ctx))
				require.Equal(t, tried, met.Load(), "what would lie is not synced again, but copied")
				failing.Store(false)
			} else {
				require.ErrorIs(t, l.Reopen(ctx), store.ErrFrozen)
				require.Greater(t, met.Load(), tried)
				failing.Store(false)
				requireFrozen(t, l)
				require.NoError(t, l.Reopen(ctx))
			}
			require.Equal(t, store.HealthOK, l.Health().State)
			require.False(t, l.ReadOnly())
			requireAppends(t, l)
			_, last, err := l.Append(ctx, message("and this is synced by the keeper"))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return l.Marks().Synced == last }, patience, time.Millisecond)
			require.NoError(t, hub.Close())
			requireSound(t, hub.Dir())
		})
	}
}

func TestAHubEndsBesideASessionThatCouldNotBeTakenOver(t *testing.T) {
	f := &faultFS{FS: store.OS()}
	root := t.TempDir()
	r, err := store.OpenRecorder(root, store.Options{})
	require.NoError(t, err)
	recorded, err := r.Create(context.Background(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	appendN(t, recorded, 5)
	hub, err := store.Open(root, store.Options{FS: f, FollowEvery: soonFollowed})
	require.NoError(t, err)
	l, err := hub.Log(context.Background(), recorded.ID())
	require.NoError(t, err)
	f.set(func(_ int, op, name string) error {
		if op == "read" && filepath.Base(name) == "events.jsonl" {
			return syscall.EIO
		}
		return nil
	})
	appendN(t, recorded, 5)
	before := readAll(t, recorded)
	require.NoError(t, r.Close())
	require.Eventually(t, func() bool { return l.Health().State == store.HealthFrozen }, patience, time.Millisecond)
	require.ErrorIs(t, hub.Close(), store.ErrFrozen)

	again := open(t, root, store.Options{})
	l, err = again.Log(context.Background(), recorded.ID())
	require.NoError(t, err)
	require.Equal(t, store.HealthOK, l.Health().State)
	require.Equal(t, before, readAll(t, l)[:len(before)])
	requireAppends(t, l)
	sealed, err := filepath.Glob(filepath.Join(root, "sessions", l.ID(), "events-*.jsonl"))
	require.NoError(t, err)
	require.Len(t, sealed, 1, "what a device failed at is copied")
}

func TestALogThatAPersonReopensIsKeptFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		const root = "/data"
		disk := newMemFS()
		r, err := store.OpenRecorder(root, store.Options{FS: disk})
		require.NoError(t, err)
		recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
		require.NoError(t, err)
		f := &faultFS{FS: disk}
		hub := open(t, root, store.Options{FS: f, FollowEvery: time.Hour})
		l, err := hub.Log(ctx, recorded.ID())
		require.NoError(t, err)
		appendN(t, recorded, 5)
		require.NoError(t, r.Close())
		f.set(func(_ int, op, _ string) error {
			if op == "read" {
				return syscall.EIO
			}
			return nil
		})
		time.Sleep(time.Hour + time.Second)
		require.Equal(t, store.HealthFrozen, l.Health().State)
		f.set(nil)
		require.NoError(t, l.Reopen(ctx))
		_, last, err := l.Append(ctx, message("streamed"))
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, last, l.Marks().Synced, "as everything that is streamed")
	})
}

// TestWhateverCallOfAFollowerFailsOnceItEndsWithTheWholeLog walks through the
// calls of a hub that follows a session over several files, some of which are
// removed meanwhile, and takes it over in the end.
func TestWhateverCallOfAFollowerFailsOnceItEndsWithTheWholeLog(t *testing.T) {
	for _, cause := range []error{syscall.ENOENT, syscall.EIO, syscall.EMFILE} {
		t.Run(strings.ReplaceAll(cause.Error(), " ", "_"), func(t *testing.T) {
			t.Parallel()
			for n, over := 1, false; !over; n++ {
				require.Less(t, n, 2000)
				if !t.Run(fmt.Sprint(n), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { over = followedWithout(t, n, cause) })
				}) {
					return
				}
			}
		})
	}
}

// followedWithout follows a session while the n-th call fails, and reports
// whether all was over before it came.
func followedWithout(t *testing.T, n int, cause error) (over bool) {
	ctx := context.Background()
	const root = "/data"
	disk := newMemFS()
	r, err := store.OpenRecorder(root, store.Options{FS: disk, SegmentBytes: 300})
	require.NoError(t, err)
	recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	f := &faultFS{FS: disk}
	hub := open(t, root, store.Options{FS: f, FollowEvery: time.Millisecond, TailBytes: 1})
	l, err := hub.Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, l.ReadOnly())
	calls, failed := 0, false
	f.set(func(_ int, op, name string) error {
		if !strings.Contains(name, recorded.ID()) {
			return nil
		}
		if calls++; calls == n {
			failed = true
			return cause
		}
		return nil
	})
	appendN(t, recorded, 4)
	require.Eventually(t, func() bool { return l.Marks().Visible == recorded.Marks().Visible }, patience, time.Millisecond)
	_, err = recorded.Retain(ctx, 400)
	require.NoError(t, err)
	for range 2 { // faster than anybody looks
		appendN(t, recorded, 3)
		_, err = recorded.Retain(ctx, 1)
		require.NoError(t, err)
	}
	want := recorded.Marks()
	require.Eventually(t, func() bool { return l.Marks().Visible == want.Visible }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return l.Marks().Min == want.Min }, patience, time.Millisecond)
	first := want.Min
	expected, err := recorded.ReadBefore(ctx, 0, 1000)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Eventually(t, func() bool { return !l.ReadOnly() || l.Reopen(ctx) == nil && !l.ReadOnly() }, patience, time.Millisecond)
	f.set(nil)
	require.Equal(t, store.HealthOK, l.Health().State)
	require.Equal(t, first, l.Marks().Min)
	got, err := l.ReadBefore(ctx, 0, 1000)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(got.JSON, expected.JSON), "what a device failed at is copied to a file that begins with a line of its own")
	_, _, err = l.Append(ctx, message("after"))
	require.NoError(t, err)
	require.NoError(t, hub.Close())
	return !failed
}
