package store_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// followedAt is a session that a recorder writes through one file system and a
// hub follows; looked waits until the hub has looked at it once from now on.
func followedAt(t *testing.T, writing store.FS, o store.Options) (recorded, followed *store.Log, looked func()) {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	r, err := store.OpenRecorder(dir, store.Options{FS: writing})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	recorded, err = r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	reading := &faultFS{FS: store.OS()}
	var looks atomic.Int64 // each begins with the question whether the writer is gone
	reading.hold("lock", func() { looks.Add(1) })
	o.FS, o.FollowEvery = reading, soonFollowed
	followed, err = open(t, dir, o).Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, followed.ReadOnly())
	return recorded, followed, func() {
		t.Helper()
		before := looks.Load()
		require.Eventually(t, func() bool { return looks.Load() >= before+2 }, patience, time.Millisecond)
	}
}

// A recorder takes back what it wrote before its device was full. What it then
// writes has the same numbers, so nobody may have seen the first.
func TestNobodySeesWhatARecorderTakesBack(t *testing.T) {
	ctx := context.Background()
	writing := &halfwayFS{FS: store.OS(), half: make(chan struct{}), rest: make(chan struct{}), full: true}
	recorded, followed, looked := followedAt(t, writing, store.Options{})
	writing.armed.Store(true)
	finish := sync.OnceFunc(func() { close(writing.rest) })
	defer finish()
	refused := make(chan error, 1)
	go func() {
		_, _, err := recorded.Append(ctx, message("taken back 1"), message("taken back 2"), message("taken back 3"))
		refused <- err
	}()
	<-writing.half // one line is there whole
	looked()
	require.EqualValues(t, 1, followed.Marks().Visible)
	finish()
	require.ErrorIs(t, <-refused, store.ErrBlocked)
	_, last, err := recorded.Append(ctx, message("other"), message("words"))
	require.NoError(t, err)
	require.EqualValues(t, 3, last)
	require.Eventually(t, func() bool { return followed.Marks().Visible == last }, patience, time.Millisecond)
	require.Equal(t, readAll(t, recorded), readAll(t, followed))
}

func TestAPromptOfARecorderIsSeenOnceItIsSynced(t *testing.T) {
	for name, durability := range map[string]store.Durability{"balanced": store.Balanced, "strict": store.Strict} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			writing := &faultFS{FS: store.OS()}
			recorded, followed, looked := followedAt(t, writing, store.Options{Durability: durability})
			syncing, goOn := make(chan struct{}), make(chan struct{})
			finish := sync.OnceFunc(func() { close(goOn) })
			defer finish()
			var armed atomic.Bool
			armed.Store(true)
			writing.hold("datasync", func() {
				written := recorded.Marks().Written == 2
				if written && armed.CompareAndSwap(true, false) {
					close(syncing)
					<-goOn
				}
			})
			appended := make(chan error, 1)
			go func() {
				_, _, err := recorded.Append(ctx, prompt("p1"))
				appended <- err
			}()
			<-syncing
			looked()
			require.EqualValues(t, 1, followed.Marks().Visible)
			finish()
			require.NoError(t, <-appended)
			require.Eventually(t, func() bool { return followed.Marks().Visible == 2 }, patience, time.Millisecond)
			require.EqualValues(t, 2, followed.Marks().Synced)
		})
	}
}

func TestAFollowerGoesOnBehindAFailedOpen(t *testing.T) {
	for _, cause := range []syscall.Errno{syscall.ENOENT, syscall.EIO, syscall.EMFILE} {
		t.Run(cause.Error(), func(t *testing.T) {
			ctx := context.Background()
			dir := t.TempDir()
			r, err := store.OpenRecorder(dir, store.Options{SegmentBytes: 1 << 10})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.Close()) })
			recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
			require.NoError(t, err)
			reading := &faultFS{FS: store.OS()}
			followed, err := open(t, dir, store.Options{FS: reading, FollowEvery: soonFollowed}).Log(ctx, recorded.ID())
			require.NoError(t, err)
			var failed atomic.Int64
			reading.set(func(_ int, op, name string) error {
				if op == "open" && filepath.Base(name) == "events.jsonl" {
					failed.Add(1)
					return cause
				}
				return nil
			})
			for range 3 {
				appendN(t, recorded, 20)
				_, err := recorded.Retain(ctx, 1)
				require.NoError(t, err)
			}
			before := failed.Load()
			require.Eventually(t, func() bool { return failed.Load() >= before+3 }, patience, time.Millisecond)
			reading.set(nil)
			require.Eventually(t, func() bool { return followed.Marks().Visible == recorded.Marks().Visible }, patience, time.Millisecond)
			require.Eventually(t, func() bool { return followed.Marks().Min == recorded.Marks().Min }, patience, time.Millisecond)
		})
	}
}

func TestAFollowerIsToldOfNewsAndDoesNotWaitForItsTime(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	r, err := store.OpenRecorder(dir, store.Options{})
	require.NoError(t, err)
	recorded, err := r.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	followed, err := open(t, dir, store.Options{FollowEvery: 24 * time.Hour}).Log(ctx, recorded.ID())
	require.NoError(t, err)
	require.True(t, followed.ReadOnly())
	for range 3 {
		_, last, err := recorded.Append(ctx, message("news"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return followed.Marks().Visible == last }, patience, time.Millisecond)
	}
	require.NoError(t, r.Close())
}

// A writer that says nothing of itself is one too, while it holds the lock.
func TestALogOfAStrangerIsShownWhenTheStrangerIsGone(t *testing.T) {
	d := recorded(t, 5)
	hub := open(t, d.root, store.Options{FollowEvery: soonFollowed})
	file, err := os.OpenFile(d.path("events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	l, err := hub.Log(context.Background(), d.id)
	require.NoError(t, err)
	require.True(t, l.ReadOnly())
	require.EqualValues(t, 5, l.Marks().Visible)
	_, err = file.WriteString(`{"seq":6,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"a stranger's"}}` + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Eventually(t, func() bool { return !l.ReadOnly() }, patience, time.Millisecond)
	require.Len(t, readAll(t, l), 6)
}
