package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/workspace"
)

func TestTheStateOfABranchCostsOneRunOfGitInThreeSeconds(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // a person's files are read once, too
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir, counted := t.TempDir(), filepath.Join(t.TempDir(), "git")
	runs := counted + ".runs"
	require.NoError(t, os.WriteFile(counted, []byte("#!/bin/sh\necho \"$*\" >> "+runs+"\nexec git \"$@\"\n"), 0o700))
	runner, err := gitstate.New(t.Context(), counted)
	require.NoError(t, err)
	files := workspace.New(runner, nil)
	put(t, dir, "a", "one\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "remote", "add", "origin", "git@example.org:group/sub/a.git")
	for _, branch := range []string{"main", "work"} {
		git(t, dir, "switch", "-q", "-C", branch)
		if branch == "work" {
			git(t, dir, "reset", "-q", "--hard", "main~1")
		}
		put(t, dir, "a", branch+"\n")
		git(t, dir, "commit", "-q", "-a", "-m", branch)
	}
	put(t, dir, "new", "x")
	require.NoError(t, os.Remove(runs))
	for range 50 {
		b, err := files.Branch(t.Context(), dir, "", "")
		require.NoError(t, err)
		require.Equal(t, []any{"work", "main", 1, 1, 1, []string{"a"}}, []any{b.Branch, b.Base, b.Ahead, b.Behind, b.Uncommitted, b.Conflicts})
		require.Equal(t, "https://example.org/group/sub/a", b.Web)
	}
	said, err := os.ReadFile(runs)
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(said), "\n"), 3, "the configuration once, the status and the merge: %s", said)

	other, err := files.Branch(t.Context(), t.TempDir(), "", "")
	require.NoError(t, err)
	require.False(t, other.Repository)
	from, err := workspace.New(runner, nil).Branch(t.Context(), dir, "gone", "")
	require.NoError(t, err)
	require.Equal(t, []any{"", false, 1}, []any{from.Base, from.Compared, from.Uncommitted}, "its base is gone")
	without, err := workspace.New(nil, nil).Branch(t.Context(), dir, "", "")
	require.NoError(t, err)
	require.Equal(t, []string{"work", "git is not installed"}, []string{without.Branch, without.Unknown})
}

func TestThePageOfARemote(t *testing.T) {
	runner, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	for remote, want := range map[string]string{
		"https://me:hunter2@example.org/a/b.git": "https://example.org/a/b", "http://git.example.org:3000/a/b": "http://git.example.org:3000/a/b",
		"ssh://git@example.org:2222/a/b.git": "https://example.org/a/b", "git@example.org:a/b/c": "https://example.org/a/b/c",
		"/srv/git/a": "", "../a": "", "file:///srv/a.b": "", "ext::sh -c x": "", "host:a": "",
	} {
		dir := t.TempDir()
		git(t, dir, "init", "-q")
		git(t, dir, "remote", "add", "origin", remote)
		b, err := workspace.New(runner, nil).Branch(t.Context(), dir, "", "")
		require.NoError(t, err)
		require.Equal(t, want, b.Web, remote)
		require.NotContains(t, fmt.Sprint(b), "hunter2")
	}
}
