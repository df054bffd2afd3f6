package store_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// A placeholder means that an event is lost. Events of a directory that was moved
// away are not lost.
func TestFault24NothingStandsInForEventsOfADirectoryThatIsAway(t *testing.T) {
	for name, meanwhile := range map[string]func(l *store.Log){
		"quiet":                  func(*store.Log) {},
		"frozen by a late write": func(l *store.Log) { l.UpdateMetadata(func(m *journal.Metadata) { m.LastLine = "said" }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), store.Options{SegmentBytes: smallFiles, TailBytes: 1, IdleAfter: 50 * time.Millisecond})
			l := create(t, s)
			appendN(t, l, 40)
			before := readAll(t, l)
			require.NoError(t, l.FlushMetadata(context.Background()))
			dir, away := filepath.Join(s.Dir(), "sessions", l.ID()), filepath.Join(t.TempDir(), "away")
			require.NoError(t, os.Rename(dir, away))
			meanwhile(l)
			require.Eventually(t, func() bool { // open files stay readable until the log is idle
				_, err := l.ReadAfter(context.Background(), 0, 1<<20)
				return err != nil
			}, 30*time.Second, 20*time.Millisecond)
			_, err := l.ReadAfter(context.Background(), 0, 1<<20)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.ErrorContains(t, err, "session directory is gone")
			_, err = l.ReadBefore(context.Background(), 5, 4)
			require.ErrorContains(t, err, "session directory is gone")
			require.Zero(t, l.Health().Holes)
			require.NoError(t, os.Rename(away, dir))
			require.NoError(t, l.Reopen(context.Background()))
			require.Equal(t, before, readAll(t, l)[:len(before)])
		})
	}
}

func TestFault24ALogWhoseDirectoryIsGoneIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newMemFS()
		fsys := &faultFS{FS: disk}
		s, err := store.Open("/data", store.Options{FS: fsys})
		require.NoError(t, err)
		defer s.Close()
		l := create(t, s)
		require.NoError(t, disk.RemoveAll(filepath.Join("/data/sessions", l.ID())))
		_, _, err = l.Append(context.Background(), prompt("p1"))
		require.ErrorIs(t, err, journal.ErrFrozen)
		l.UpdateMetadata(func(m *journal.Metadata) { m.LastLine = "said" })
		time.Sleep(10 * time.Second)
		before := fsys.count()
		time.Sleep(time.Hour)
		require.Less(t, fsys.count()-before, 5, "calls on a directory that is away")
	})
}
