package gitstate_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

func TestABranchIsComparedWithItsBase(t *testing.T) {
	g, dir := newGit(t), repository(t)
	plain(t, dir, "switch", "-q", "-c", "work")
	commit(t, dir, "a", "a")
	commit(t, dir, "b/c", "c")
	plain(t, dir, "switch", "-q", "main")
	commit(t, dir, "d", "d")
	plain(t, dir, "switch", "-q", "work")
	put(t, filepath.Join(dir, "a"), "changed")
	put(t, filepath.Join(dir, "new/x"), "x")
	put(t, filepath.Join(dir, "new/y"), "y")
	plain(t, dir, "rm", "-q", "--cached", "README.md")
	r := find(t, dir)
	for range 2 { // loose refs, then packed
		base, err := r.BaseOf("work", "")
		require.NoError(t, err)
		require.Equal(t, gitstate.Base{Branch: "main", Commit: plain(t, dir, "rev-parse", "main")}, base)
		s, err := g.Compare(t.Context(), r, base)
		require.NoError(t, err)
		head := gitstate.Head{Branch: "work", Commit: plain(t, dir, "rev-parse", "work")}
		require.Equal(t, gitstate.Standing{Head: head, Ahead: 2, Behind: 1, Compared: true, Uncommitted: 4, Names: []string{"README.md", "a", "README.md", "new/"}}, s, "a, README.md twice, new/")
		plain(t, dir, "pack-refs", "--all")
	}
	none, err := r.BaseOf("main", "")
	require.NoError(t, err)
	require.Empty(t, none)
	s, err := g.Compare(t.Context(), r, none)
	require.NoError(t, err)
	require.False(t, s.Compared)
	plain(t, dir, "update-ref", "refs/remotes/origin/trunk", "main")
	plain(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	base, err := r.BaseOf("main", "")
	require.NoError(t, err)
	require.Equal(t, "trunk", base.Branch)
}

func TestConflictsAreKnownBeforehand(t *testing.T) {
	g, dir := newGit(t), repository(t)
	for i := range 3 {
		commit(t, dir, fmt.Sprint("f", i), "one\ntwo\nthree\n")
	}
	plain(t, dir, "switch", "-q", "-c", "work")
	commit(t, dir, "f0", "one\nours\nthree\n")
	commit(t, dir, "f1", "one\ntwo\nthree\nfour\n")
	plain(t, dir, "mv", "f2", "renamed")
	plain(t, dir, "commit", "-q", "-m", "rename")
	ours := plain(t, dir, "rev-parse", "HEAD")
	plain(t, dir, "switch", "-q", "main")
	commit(t, dir, "f0", "one\ntheirs\nthree\n")
	commit(t, dir, "f1", "zero\none\ntwo\nthree\n")
	plain(t, dir, "rm", "-q", "f2")
	plain(t, dir, "commit", "-q", "-m", "remove")
	theirs := plain(t, dir, "rev-parse", "HEAD")
	before := plain(t, dir, "count-objects", "-v")
	trap := newTrap(t)
	put(t, filepath.Join(dir, ".gitattributes"), "* merge=evil\n")
	plain(t, dir, "config", "merge.evil.driver", trap.program)
	found, err := g.Foresee(t.Context(), find(t, dir), ours, theirs)
	require.NoError(t, err)
	require.Equal(t, gitstate.Outcome{Conflicts: []string{"f0", "renamed"}}, found)
	require.Equal(t, before, plain(t, dir, "count-objects", "-v"), "nothing is written into the repository")
	require.Empty(t, trap.sprung(t))
	found, err = g.Foresee(t.Context(), find(t, dir), ours, plain(t, dir, "merge-base", ours, theirs))
	require.NoError(t, err)
	require.Equal(t, gitstate.Outcome{}, found)
	_, err = g.Foresee(t.Context(), find(t, dir), ours, "0000000000000000000000000000000000000000")
	require.Error(t, err)
}

func TestABranchWhoseChangesTheBaseHasMergesToNothing(t *testing.T) {
	g, dir := newGit(t), repository(t)
	commit(t, dir, "a", "one\n")
	plain(t, dir, "switch", "-q", "-c", "work")
	commit(t, dir, "b", "b\n")
	commit(t, dir, "c", "c\n")
	ours := plain(t, dir, "rev-parse", "HEAD")
	plain(t, dir, "switch", "-q", "main")
	plain(t, dir, "merge", "-q", "--squash", "work")
	plain(t, dir, "commit", "-q", "-m", "all of work")
	commit(t, dir, "a", "two\n")
	found, err := g.Foresee(t.Context(), find(t, dir), ours, plain(t, dir, "rev-parse", "main"))
	require.NoError(t, err)
	require.Equal(t, gitstate.Outcome{Nothing: true}, found)
	commit(t, dir, "c", "other\n")
	found, err = g.Foresee(t.Context(), find(t, dir), ours, plain(t, dir, "rev-parse", "main"))
	require.NoError(t, err)
	require.Equal(t, gitstate.Outcome{Conflicts: []string{"c"}}, found)
}
