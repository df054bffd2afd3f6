package store_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

// elsewhere is a directory outside of the store that a link in a session points to.
type elsewhere struct {
	t   *testing.T
	dir string
}

func linkedElsewhere(t *testing.T, d disk, name string) elsewhere {
	e := elsewhere{t, filepath.Join(t.TempDir(), "elsewhere")}
	require.NoError(t, os.Mkdir(e.dir, 0o755))
	require.NoError(t, os.Chmod(e.dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(e.dir, "notes.tmp"), []byte("mine"), 0o644))
	require.NoError(t, os.Symlink(e.dir, d.path(name)))
	return e
}

func (e elsewhere) requireUntouched() {
	e.t.Helper()
	info, err := os.Stat(e.dir)
	require.NoError(e.t, err)
	require.Equal(e.t, fs.FileMode(0o755), info.Mode().Perm())
	names, err := os.ReadDir(e.dir)
	require.NoError(e.t, err)
	require.Len(e.t, names, 1)
}

func requireOneStray(t *testing.T, d disk, name string) {
	t.Helper()
	s := open(t, d.root, store.Options{})
	r, err := s.Check(t.Context(), d.id)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	var about []store.Problem
	for _, p := range r.Problems {
		if filepath.Dir(p.File) == name || p.File == name {
			about = append(about, p)
		}
	}
	require.Len(t, about, 1)
	require.Equal(t, store.ProblemStray, about[0].Kind)
	require.Contains(t, about[0].Detail, "symbolic link")
}

func TestBlobsAreNeverPutWhereALinkLeads(t *testing.T) {
	d := recorded(t, 5)
	there := linkedElsewhere(t, d, "blobs")
	requireOneStray(t, d, "blobs")
	o := d.open(store.Options{})
	_, err := o.log.PutBlob(t.Context(), "text/plain", []byte("large"))
	require.ErrorContains(t, err, "symbolic link")
	there.requireUntouched()
	require.NoError(t, os.Remove(d.path("blobs")))
	_, err = o.log.PutBlob(t.Context(), "text/plain", []byte("large"))
	require.NoError(t, err)
	o.close()
}

func TestATornTailIsNeverPutWhereALinkLeads(t *testing.T) {
	d := recorded(t, 5)
	there := linkedElsewhere(t, d, "quarantine")
	torn := append(d.read("events.jsonl"), `{"seq":`...)
	d.write("events.jsonl", torn)
	requireOneStray(t, d, "quarantine")
	s := open(t, d.root, store.Options{})
	_, err := s.Log(t.Context(), d.id)
	require.ErrorContains(t, err, "symbolic link")
	there.requireUntouched()
	require.Equal(t, torn, d.read("events.jsonl"), "the only copy of the tail was changed")
	require.NoError(t, os.Remove(d.path("quarantine")))
	l, err := s.Log(t.Context(), d.id)
	require.NoError(t, err)
	requireAppends(t, l)
	require.NoError(t, s.Close())
}
