package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// bornFS skips a test if files have no birth times.
func bornFS(t *testing.T) {
	t.Helper()
	fsys, ok := store.OS().(interface{ Born(string) (string, error) })
	if !ok {
		t.Skip("needs Linux for birth times")
	}
	at, err := fsys.Born(t.TempDir())
	require.NoError(t, err)
	if at == "" {
		t.Skip("this file system has no birth times")
	}
}

// setAside copies a session's directory. restore replaces the directory by the
// copy.
func setAside(t *testing.T, d disk) (restore func()) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(d.dir())))
	return func() {
		require.NoError(t, os.RemoveAll(d.dir()))
		require.NoError(t, os.CopyFS(d.dir(), os.DirFS(copied)))
	}
}

func TestABackupOfAWholeSessionPutBackAfterTheLogWentOnHasANewEpochOnce(t *testing.T) {
	bornFS(t)
	for name, size := range map[string]int64{"one file": 0, "many files": 1000} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 10)
			opts := store.Options{SegmentBytes: size}
			o := d.open(opts)
			appendN(t, o.log, 20)
			old := readAll(t, o.log)
			d = o.close()
			restore := setAside(t, d)
			o = d.open(opts)
			epoch := o.log.Epoch()
			appendN(t, o.log, 20)
			d = o.close()

			restore()
			o = d.open(opts)
			again := o.log.Epoch()
			require.NotEqual(t, epoch, again, "the epoch is the same, though readers saw events after the backup")
			events := readAll(t, o.log)
			require.Equal(t, old, events[:len(old)])
			require.Equal(t, event.TypeEpoch, events[len(old)].Type)
			requireAppends(t, o.log)
			d = o.close()
			require.Equal(t, again, d.open(opts).log.Epoch())
		})
	}
}

func TestALogThatMovedOrBeganANewFileIsNoCopy(t *testing.T) {
	bornFS(t)
	d := recorded(t, 10)
	epoch := epochOf(t, d)
	elsewhere := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(d.root, elsewhere))
	d.root = elsewhere
	o := d.open(store.Options{SegmentBytes: 1000})
	early := filepath.Join(t.TempDir(), "early") // as a crash right after the first seal leaves it
	require.NoError(t, os.Link(d.path("metadata.json"), early))
	appendN(t, o.log, 40)
	d = o.close()
	sealed, err := filepath.Glob(d.path("events-*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, sealed)
	require.NoError(t, os.Rename(early, d.path("metadata.json")))
	require.Equal(t, epoch, d.open(store.Options{SegmentBytes: 1000}).log.Epoch())
}
