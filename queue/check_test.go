package queue_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
)

// An unreadable queue file, also a directory or a pipe, must not block any caller.
// Check finds it, and opening the queue or a repair replaces it once.
func TestAFileThatCannotBeUnderstoodIsFoundAndRepairedOnce(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"garbage":     func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o600) },
		"no queue":    func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
		"a directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "what", "was"), 0o700) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a pipe": func(path string) error {
			if err := syscall.Mkfifo(path+".pipe", 0o600); err != nil {
				return err
			}
			return os.Symlink(path+".pipe", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			damaged, err := queue.Check(in(dir))
			require.NoError(t, err)
			require.False(t, damaged)
			path := filepath.Join(dir, "queue.json")
			for _, repair := range []func(){
				func() {
					did, err := queue.Repair(in(dir))
					require.NoError(t, err)
					require.Contains(t, did, "queue.json")
					q, err := queue.Open(in(dir), queue.Options{})
					require.NoError(t, err)
					require.False(t, q.Missing(), "which was said already")
					require.Nil(t, q.Damage())
					require.Zero(t, q.LogSeq(), "the log is entered anew")
					require.NoError(t, os.Remove(path))
				},
				func() {
					q, err := queue.Open(in(dir), queue.Options{})
					require.NoError(t, err)
					require.NotNil(t, q.Damage())
				},
			} {
				require.NoError(t, put(path))
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					damaged, err = queue.Check(in(dir))
				}()
				select {
				case <-answered:
				case <-time.After(time.Minute):
					t.Fatal("a check waits for a pipe")
				}
				require.True(t, damaged)
				require.ErrorContains(t, err, "queue.json")
				require.NotContains(t, err.Error(), dir)
				require.Equal(t, name != "no queue", queue.Waiting(in(dir))) // otherwise no prompt is known to wait
				repair()
				_, err = os.Lstat(path)
				require.ErrorIs(t, err, os.ErrNotExist)
				did, err := queue.Repair(in(dir))
				require.NoError(t, err)
				require.Empty(t, did)
				_ = os.Remove(path + ".pipe") // the link's target, if there was one
			}
		})
	}
}

// The older prompt ids cannot be restored, so a ledger that is no regular file is
// refused at once.
func TestAPipeInPlaceOfTheOlderIdsIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "ledger.jsonl"), 0o600))
	done := make(chan error, 1)
	go func() {
		_, err := queue.Open(in(dir), queue.Options{})
		done <- err
	}()
	select {
	case err := <-done:
		require.ErrorContains(t, err, "ledger.jsonl: it is not a regular file")
	case <-time.After(time.Minute):
		t.Fatal("opening waits for a pipe")
	}
}
