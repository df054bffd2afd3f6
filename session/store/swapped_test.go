package store_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// Readers go on meanwhile, while copies take the place of the active file.
func TestAFreshFileWhoseNameIsNotDurableIsNotCalledSynced(t *testing.T) {
	ctx := context.Background()
	f, s, l := onFaulty(t, store.Options{TailBytes: 1})
	appendN(t, l, 200) // more than the tail keeps
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := l.ReadBefore(ctx, 0, 200); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 100 {
		f.set(nthOf(1, "datasync", "events", syscall.EIO))
		_, _, err := l.Append(ctx, prompt("p"))
		require.ErrorIs(t, err, store.ErrFrozen)
		f.set(nthOf(1, "syncdir", l.ID(), syscall.EIO)) // the fresh file is in place, and nobody knows for how long
		for l.Health().State == store.HealthFrozen {
			before := l.Marks().Synced
			if err := l.Reopen(ctx); err != nil {
				require.Equal(t, before, l.Marks().Synced, "a name that is not durable")
			}
		}
		f.set(nil)
	}
	close(stop)
	readers.Wait()
	requireAppends(t, l)
	require.NoError(t, s.Close())
	r, err := s.Check(ctx, "")
	require.NoError(t, err)
	require.Empty(t, r.Problems)
}

// What stands in place of a complete file costs its events, and none behind them.
func TestWhatIsNoFileInPlaceOfACompleteOneStopsNoReader(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":                func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a broken link":         func(path string) error { return os.Symlink("nowhere", path) },
		"a link to a directory": func(path string) error { return os.Symlink(filepath.Dir(path), path) },
	} {
		t.Run(name, func(t *testing.T) {
			d, events, sealed := inFiles(t)
			first, last := bounds(t, sealed[2])
			require.NoError(t, os.Remove(sealed[2]))
			require.NoError(t, put(sealed[2]))
			require.NotEmpty(t, kinds(t, d))
			o := d.open(store.Options{SegmentBytes: 2000, TailBytes: 1})
			now := readAll(t, o.log)
			for i, e := range now[:len(events)] {
				if e.Seq >= first && e.Seq <= last {
					require.Equal(t, event.TypeCorrupt, e.Type)
				} else {
					require.Equal(t, events[i], e)
				}
			}
			require.Positive(t, o.log.Health().Holes)
			requireAppends(t, o.log)
		})
	}
}
