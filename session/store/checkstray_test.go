package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

// A file of the log that somebody renamed is not only missed: check says where it is.
func TestCheckFindsAFileOfTheLogUnderAnotherName(t *testing.T) {
	d, _, sealed := inFiles(t)
	stray := func() (found []store.Problem) {
		t.Helper()
		r, err := store.Check(t.Context(), d.root, d.id)
		require.NoError(t, err)
		for _, p := range r.Problems {
			if p.Kind == store.ProblemStray {
				found = append(found, p)
			}
		}
		return found
	}
	whole, err := os.ReadFile(sealed[2])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.path("copy-of-mine.jsonl"), whole, 0o600))
	require.Empty(t, kinds(t, d), "a copy beside the file is no loss")
	require.NoError(t, os.Remove(d.path("copy-of-mine.jsonl")))

	for _, name := range []string{"old.jsonl", filepath.Base(sealed[2]) + ".bak", "events-3.jsonl"} {
		require.NoError(t, os.Rename(sealed[2], d.path(name)))
		found := stray()
		require.Len(t, found, 1, name)
		require.Equal(t, name, found[0].File)
		require.Contains(t, found[0].Detail, "rename it to "+filepath.Base(sealed[2]))
		require.NoError(t, os.Rename(d.path(name), sealed[2]))
		require.Empty(t, kinds(t, d))
	}
	require.NoError(t, os.Rename(d.path("events.jsonl"), d.path("events.jsonl.old")))
	require.Contains(t, stray()[0].Detail, "that no file of the log has")
	require.NoError(t, os.Rename(d.path("events.jsonl.old"), d.path("events.jsonl")))

	other, _, theirs := inFiles(t)
	foreign, err := os.ReadFile(theirs[2])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.path("old.jsonl"), foreign, 0o600))
	require.Contains(t, stray()[0].Detail, `belongs to session "`+other.id+`"`)
	require.NoError(t, os.WriteFile(d.path("old.jsonl"), []byte("notes of a person\n"), 0o600))
	require.Empty(t, stray())
}
