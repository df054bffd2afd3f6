package store_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// nobody is a user without files.
const nobody = 65534

// asNobody runs do as that user: setfsuid changes the user of one thread for the
// file system. The thread is never unlocked, so it ends with its goroutine.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("acting as another user needs root")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0) // returns the former user, not an error
		do()
	}()
	<-done
}

// reachable returns a data directory that other users may reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	return filepath.Join(dir, "data")
}

// owned gives a directory and its content to nobody.
func owned(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, nobody, -1)
	}))
}

func TestFault23ADirectoryOfAnotherOwnerSaysWhy(t *testing.T) {
	root := reachable(t)
	s, err := store.Open(root, store.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	before := snapshotDir(t, root)
	asNobody(t, func() { _, err = store.Open(root, store.Options{}) })
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, root)
	require.Equal(t, before, snapshotDir(t, root))

	owned(t, root)
	require.NoError(t, os.Chmod(root, 0o500)) // read-only
	asNobody(t, func() {
		if s, err = store.Open(filepath.Join(root, "deeper"), store.Options{}); err == nil {
			_ = s.Close()
		}
	})
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, root)
}

// Some systems let others traverse /home but not list it.
func TestFault23AParentThatMayNotBeListedIsEnough(t *testing.T) {
	parent := filepath.Join(reachable(t), "..", "users")
	require.NoError(t, os.Mkdir(parent, 0o700))
	mine, shared := filepath.Join(parent, "mine"), filepath.Join(parent, "shared")
	require.NoError(t, os.Mkdir(mine, 0o700))
	require.NoError(t, os.Mkdir(shared, 0o700))
	require.NoError(t, os.Chown(mine, nobody, -1))
	require.NoError(t, os.Chmod(parent, 0o711))
	require.NoError(t, os.Chmod(shared, 0o733)) // for the creation of the data directory
	for _, root := range []string{mine, filepath.Join(shared, "data")} {
		var opened, created error
		asNobody(t, func() {
			var s *store.Store
			if s, opened = store.Open(root, store.Options{}); opened != nil {
				return
			}
			_, created = s.Create(t.Context(), event.SessionStart{Agent: "demo"})
			_ = s.Close()
		})
		require.NoError(t, opened, root)
		require.NoError(t, created, root)
		requireSound(t, root)
	}
}

// After a restore as root, one session's files may belong to root. Only this
// session fails.
func TestFault23ALogOfAnotherOwnerFailsAlone(t *testing.T) {
	for _, name := range []string{"events.jsonl", "metadata.json"} {
		t.Run(name, func(t *testing.T) {
			root := reachable(t)
			s, err := store.Open(root, store.Options{})
			require.NoError(t, err)
			theirs, ours := create(t, s), create(t, s)
			appendN(t, theirs, 5)
			require.NoError(t, s.Close())
			owned(t, root)
			path := filepath.Join(root, "sessions", theirs.ID(), name)
			require.NoError(t, os.Chown(path, 0, -1))
			var opened, refused, appended error
			listed := 0
			asNobody(t, func() {
				if s, opened = store.Open(root, store.Options{}); opened != nil {
					return
				}
				defer s.Close()
				listed = len(s.List())
				_, refused = s.Log(t.Context(), theirs.ID())
				var l *store.Log
				if l, appended = s.Log(t.Context(), ours.ID()); appended == nil {
					_, _, appended = l.Append(t.Context(), prompt("p"))
				}
			})
			require.NoError(t, opened)
			require.Equal(t, 2, listed)
			require.ErrorIs(t, refused, os.ErrPermission)
			require.ErrorContains(t, refused, name)
			require.NoError(t, appended)

			require.NoError(t, os.Chown(path, nobody, -1))
			s, err = store.Open(root, store.Options{})
			require.NoError(t, err)
			l, err := s.Log(t.Context(), theirs.ID())
			require.NoError(t, err)
			require.Len(t, readAll(t, l), 6)
			require.NoError(t, s.Close())
		})
	}
}

// A device without free inodes can create no file, though it has space.
func TestFault23ADeviceWithoutInodesBlocksAndHealsByItself(t *testing.T) {
	none := withMount(t, "tmpfs", "-o", "nr_inodes=2,mode=0700", "abide-test")
	_, err := store.Open(filepath.Join(none, "data"), store.Options{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, none)

	dir := withMount(t, "tmpfs", "-o", "nr_inodes=40,mode=0700", "abide-test")
	s, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() }) // before it is unmounted
	l := create(t, s)
	require.NoError(t, l.FlushMetadata(t.Context()))
	filler := filepath.Join(dir, "filler")
	require.NoError(t, os.Mkdir(filler, 0o700))
	for n := 0; err == nil; n++ {
		err = os.WriteFile(filepath.Join(filler, fmt.Sprint(n)), nil, 0o600)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	first, _, err := l.Append(t.Context(), prompt("needs no new file"))
	require.NoError(t, err)
	l.UpdateMetadata(func(m *journal.Metadata) { m.LastLine = "said" })
	require.ErrorIs(t, l.FlushMetadata(t.Context()), journal.ErrBlocked)
	_, err = l.PutBlob(t.Context(), "text/plain", []byte("a picture"))
	require.ErrorIs(t, err, journal.ErrBlocked)
	require.EqualValues(t, 2, first)

	require.NoError(t, os.RemoveAll(filler))
	awaitHealth(t, l, journal.HealthOK)
	require.NoError(t, l.FlushMetadata(t.Context()))
	_, err = l.PutBlob(t.Context(), "text/plain", []byte("a picture"))
	require.NoError(t, err)
	require.Len(t, readAll(t, l), 2)
	require.NoError(t, s.Close())
	requireSound(t, dir)
}
