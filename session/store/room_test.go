package store_test

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// tightFS is a device with a limited number of free bytes.
type tightFS struct {
	store.FS
	room atomic.Int64
}

func (f *tightFS) Create(name string) (store.File, error) {
	file, err := f.FS.Create(name)
	return tightFile{file, f}, err
}

func (f *tightFS) Means(name string, file store.File) (bool, error) {
	return f.FS.Means(name, file.(tightFile).File)
}

type tightFile struct {
	store.File
	fs *tightFS
}

func (f tightFile) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.fs.room.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

func TestALogStaysBlockedUntilThereIsRoomForTheLargeValueThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		f := &tightFS{FS: newMemFS()}
		f.room.Store(200 << 10) // enough for several lines, but not for the value
		s, err := store.Open("/data", store.Options{FS: f, BootID: "boot"})
		require.NoError(t, err)
		l := create(t, s)
		huge := message(strings.Repeat("huge ", 100<<10))
		_, _, err = l.Append(ctx, huge)
		require.ErrorIs(t, err, journal.ErrBlocked)
		for range 60 {
			time.Sleep(time.Second)
			require.Equal(t, journal.HealthBlocked, l.Health().State, "the log must be blocked: the value does not fit")
		}
		appendN(t, l, 1)
		require.Equal(t, journal.HealthBlocked, l.Health().State, "the log must be blocked: a line fits, but not the value")
		f.room.Store(1 << 30)
		time.Sleep(10 * time.Second)
		require.Equal(t, journal.HealthOK, l.Health().State, "the log must recover by itself")
		_, _, err = l.Append(ctx, huge)
		require.NoError(t, err)

		f.room.Store(200 << 10)
		other := message(strings.Repeat("other ", 100<<10))
		_, _, err = l.Append(ctx, other)
		require.ErrorIs(t, err, journal.ErrBlocked)
		f.room.Store(1 << 30)
		_, _, err = l.Append(ctx, other)
		require.NoError(t, err)
		f.room.Store(200 << 10)
		time.Sleep(10 * time.Second)
		require.Equal(t, journal.HealthOK, l.Health().State, "the log must not be blocked after the waiting data was written")
		require.NoError(t, s.Close())
	})
}
