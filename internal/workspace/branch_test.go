package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	from, err := files.Branch(t.Context(), dir, "gone", "") // of another session, within three seconds
	require.NoError(t, err)
	require.Equal(t, []any{"", false, 1}, []any{from.Base, from.Compared, from.Uncommitted}, "its base is gone")
	without, err := workspace.New(nil, nil).Branch(t.Context(), dir, "", "")
	require.NoError(t, err)
	require.Equal(t, []string{"work", "git is not installed"}, []string{without.Branch, without.Unknown})
}

func TestWhoGoesAwayLeavesNoAnswerOfABranchToOthers(t *testing.T) {
	dir, slow := t.TempDir(), filepath.Join(t.TempDir(), "git")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nif [ -e "+slow+".hangs ]; then mv "+slow+".hangs "+slow+".begun; exec sleep 60; fi\nexec git \"$@\"\n"), 0o700))
	runner, err := gitstate.New(t.Context(), slow)
	require.NoError(t, err)
	files := workspace.New(runner, nil)
	put(t, dir, "a", "one\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "switch", "-q", "-c", "work")
	require.NoError(t, os.WriteFile(slow+".hangs", nil, 0o600))
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := files.Branch(gone, dir, "main", "")
		left <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(slow + ".begun"); return err == nil }, time.Minute, time.Millisecond)
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	b, err := files.Branch(t.Context(), dir, "main", "")
	require.NoError(t, err)
	require.Equal(t, []any{"", true}, []any{b.Unknown, b.Compared})
}

func TestASquashedBranchIsMergedWhileTheBaseHasWhatWasMade(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	runner, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	dir := t.TempDir()
	put(t, dir, "a", "one\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "switch", "-q", "-c", "work")
	put(t, dir, "a", "two\n")
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	look := func(merges ...workspace.Merge) []any {
		b, err := workspace.New(runner, nil).Branch(t.Context(), dir, "", "", merges...)
		require.NoError(t, err)
		return []any{b.Merged, b.Ahead, b.Behind, len(b.Conflicts)}
	}
	require.Equal(t, []any{false, 1, 0, 0}, look())
	git(t, dir, "switch", "-q", "main")
	git(t, dir, "merge", "-q", "--squash", "work")
	git(t, dir, "commit", "-q", "-m", "squashed")
	git(t, dir, "switch", "-q", "work")
	at := func(branch string) string {
		r, err := gitstate.Find(dir)
		require.NoError(t, err)
		commit, err := r.Branch(branch)
		require.NoError(t, err)
		return commit
	}
	merge := workspace.Merge{Base: "main", After: at("main"), Tip: at("work")}
	require.Equal(t, []any{true, 1, 1, 0}, look(), "by its files")
	git(t, dir, "switch", "-q", "main")
	put(t, dir, "a", "three\n")
	git(t, dir, "commit", "-q", "-a", "-m", "three")
	git(t, dir, "switch", "-q", "work")
	require.Equal(t, []any{false, 1, 2, 1}, look())
	require.Equal(t, []any{true, 1, 2, 0}, look(merge), "by the merge that was made here")
	put(t, dir, "a", "four\n")
	git(t, dir, "commit", "-q", "-a", "-m", "four")
	require.Equal(t, []any{false, 2, 2, 1}, look(merge), "there is more since")
	git(t, dir, "reset", "-q", "--hard", "HEAD~1")
	git(t, dir, "branch", "-q", "-f", "main", "main~2")
	git(t, dir, "switch", "-q", "main")
	put(t, dir, "a", "other\n")
	git(t, dir, "commit", "-q", "-a", "-m", "other")
	git(t, dir, "switch", "-q", "work")
	require.Equal(t, []any{false, 1, 1, 1}, look(merge), "the base was taken back")
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
