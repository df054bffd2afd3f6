package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// logBytes returns the size of a log's files.
func logBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "events*.jsonl"))
	require.NoError(t, err)
	for _, path := range files {
		if info, err := os.Stat(path); err == nil { // otherwise it was just removed
			sum += info.Size()
		}
	}
	return sum
}

func TestALogIsKeptToItsLimitAtSealingAtAChangeAndAtOpening(t *testing.T) {
	const file, most = 2 << 10, 10 << 10
	root := t.TempDir()
	s := open(t, root, store.Options{SegmentBytes: file})
	l := create(t, s)
	dir, err := s.SessionDir(l.ID())
	require.NoError(t, err)
	within := func(bytes int64) {
		t.Helper()
		require.Eventually(t, func() bool { return logBytes(t, dir) <= bytes }, patience, 5*time.Millisecond)
	}
	appendN(t, l, 300)
	require.NoError(t, l.FlushMetadata(context.Background()))
	require.Greater(t, logBytes(t, dir), int64(3*most))
	require.EqualValues(t, 1, l.Marks().Min, "events were removed without a limit")

	s.SetKeep(2 * most)
	within(2 * most)
	first := l.Marks().Min
	require.Greater(t, first, event.Seq(1))
	s.SetKeep(0)
	appendN(t, l, 100)
	require.NoError(t, l.FlushMetadata(context.Background()))
	require.Equal(t, first, l.Marks().Min)
	require.NoError(t, s.Close())

	s = open(t, root, store.Options{SegmentBytes: file, KeepBytes: most})
	l, err = s.Log(context.Background(), l.ID())
	require.NoError(t, err)
	within(most)
	require.Greater(t, l.Marks().Min, first)
	for range 5 {
		first = l.Marks().Min
		appendN(t, l, 100)
		within(most + file) // the active file is never removed
		require.Greater(t, l.Marks().Min, first)
	}
	require.Equal(t, l.Marks().Min, l.Metadata().MinSeq)
	fresh := create(t, s)
	appendN(t, fresh, 300)
	require.Eventually(t, func() bool { return fresh.Marks().Min > 1 }, patience, 5*time.Millisecond)
	require.NoError(t, s.Close())
	requireSound(t, root)
}

func TestRetentionThatFailedIsTriedAgain(t *testing.T) {
	f, s, l := onFaulty(t, store.Options{SegmentBytes: 1000})
	appendN(t, l, 100)
	require.NoError(t, l.FlushMetadata(context.Background()))
	tried := make(chan struct{}, 1)
	f.set(func(_ int, op, name string) error {
		if op == "create" && strings.HasSuffix(name, "metadata.json.tmp") {
			select {
			case tried <- struct{}{}:
			default:
			}
			return syscall.ENOSPC
		}
		return nil
	})
	s.SetKeep(3000)
	<-tried
	f.set(nil)
	require.Eventually(t, func() bool {
		left, err := f.ReadDir("/data/sessions/" + l.ID())
		require.NoError(t, err)
		return len(left) <= 5
	}, patience, 5*time.Millisecond)
	require.Greater(t, l.Marks().Min, event.Seq(1))
	require.NoError(t, s.Close())
}
