package gitstate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

// forked is a repository whose branch side is checked out in a worktree of its own, with
// commits on both.
func forked(t *testing.T) (dir, side string) {
	t.Helper()
	dir = repository(t)
	commit(t, dir, "gone", "x")
	commit(t, dir, "deep/er/file", "x")
	commit(t, dir, "run", "#!/bin/sh\n")
	side = filepath.Join(dir, "side")
	put(t, filepath.Join(dir, ".git/info/exclude"), "side\n")
	plain(t, dir, "worktree", "add", "-q", "-b", "side", side)
	commit(t, side, "new/file", "of the side")
	plain(t, side, "rm", "-q", "gone", "deep/er/file")
	require.NoError(t, os.Symlink("/etc", filepath.Join(side, "out")))
	require.NoError(t, os.Chmod(filepath.Join(side, "run"), 0o755))
	plain(t, side, "add", "-A")
	plain(t, side, "commit", "-q", "-m", "more\n\nof the side")
	commit(t, dir, "README.md", "# Of main\n")
	named(t, dir)
	return dir, side
}

func join(t *testing.T, g *gitstate.Git, at string, j gitstate.Join) (gitstate.Move, error) {
	t.Helper()
	if j.Commit == "" {
		j.Commit = plain(t, at, "rev-parse", j.From)
	}
	j.Begun = begun
	return g.Join(t.Context(), find(t, at), j)
}

func clean(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		require.Empty(t, plain(t, dir, "status", "--porcelain"))
		require.Empty(t, plain(t, dir, "diff-files", "--name-only"))
		plain(t, dir, "fsck", "--strict")
		require.Empty(t, plain(t, dir, "ls-files", "--others", ":(glob)**/.abide-*"))
	}
}

func TestABranchIsMergedIntoItsBase(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := newGit(t)
	for _, method := range []string{"merge", "squash"} {
		for _, checkedOut := range []bool{true, false} {
			dir, side := forked(t)
			main, at := plain(t, dir, "rev-parse", "main"), plain(t, dir, "rev-parse", "side")
			if !checkedOut {
				plain(t, dir, "switch", "-q", "-c", "elsewhere")
			}
			_, err := join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "ff"})
			require.ErrorContains(t, err, "update first")
			made, err := join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: method})
			require.NoError(t, err, method)
			require.Equal(t, made.After, plain(t, dir, "rev-parse", "main"))
			require.ElementsMatch(t, []string{"deep/er/file", "gone", "new/file", "out", "run"}, made.Files)
			parents := main
			if method == "merge" {
				parents += " " + at
			}
			require.Equal(t, parents, plain(t, dir, "log", "-1", "--format=%P", "main"))
			require.Equal(t, "# Of main", plain(t, dir, "show", "main:README.md"))
			clean(t, dir, side)
			if checkedOut {
				require.NoFileExists(t, filepath.Join(dir, "gone"))
				require.NoDirExists(t, filepath.Join(dir, "deep"))
				require.FileExists(t, filepath.Join(dir, "new/file"))
				to, err := os.Readlink(filepath.Join(dir, "out"))
				require.NoError(t, err)
				require.Equal(t, "/etc", to)
			}
			_, err = join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: method})
			require.ErrorIs(t, err, gitstate.ErrNothing)
		}
	}
}

func TestABranchIsUpdatedFromItsBase(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := newGit(t)
	for _, method := range []string{"merge", "rebase"} {
		dir, side := forked(t)
		plain(t, side, "commit", "-q", "--allow-empty", "--author=Eve <eve@example.org>", "--date=@1700000000 +0100", "-m", "empty")
		main := plain(t, dir, "rev-parse", "main")
		put(t, filepath.Join(side, "not committed"), "x")
		_, err := join(t, g, side, gitstate.Join{From: "main", Method: method, Forward: true})
		require.NoError(t, err, method)
		require.NoError(t, os.Remove(filepath.Join(side, "not committed")), "it stays")
		require.Equal(t, "# Of main", plain(t, side, "show", "HEAD:README.md"))
		clean(t, dir, side)
		if method == "rebase" {
			require.Equal(t, "more\nnew/file", plain(t, side, "log", "--format=%s", "main..side"))
			require.Equal(t, main, plain(t, side, "rev-parse", "side~2"))
			require.Equal(t, "a <a@b> Ada", plain(t, side, "log", "-1", "--format=%an <%ae> %cn"))
			require.Equal(t, "more\n\nof the side", plain(t, side, "log", "-1", "--format=%B"))
		}
		_, err = join(t, g, side, gitstate.Join{From: "main", Method: method, Forward: true})
		require.ErrorIs(t, err, gitstate.ErrNothing)
		_, err = join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "ff"})
		require.NoError(t, err, "now main only moves on")
		require.Equal(t, plain(t, dir, "rev-parse", "side"), plain(t, dir, "rev-parse", "main"))
		clean(t, dir, side)
	}
}

func TestWhatIsInTheWayOfAMergeIsNamedAndStays(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := newGit(t)
	for name, make := range map[string]func(t *testing.T, dir string) string{
		"a changed file": func(t *testing.T, dir string) string { put(t, filepath.Join(dir, "gone"), "mine"); return "gone" },
		"a staged file": func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, "gone"), "mine")
			plain(t, dir, "add", "gone")
			put(t, filepath.Join(dir, "gone"), "x")
			return "gone"
		},
		"another changed file": func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, "README.md"), "mine")
			return "README.md"
		},
		"an untracked file": func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, "new/file"), "mine")
			return "new/file"
		},
		"a file for a folder": func(t *testing.T, dir string) string { put(t, filepath.Join(dir, "new"), "mine"); return "new/file" },
		"a folder for a file": func(t *testing.T, dir string) string { put(t, filepath.Join(dir, "out/mine"), "mine"); return "out" },
		"a link for a folder": func(t *testing.T, dir string) string {
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "new")))
			return "new/file"
		},
		"a file that is gone": func(t *testing.T, dir string) string {
			require.NoError(t, os.Remove(filepath.Join(dir, "run")))
			return "run"
		},
		"a folder that is ignored": func(t *testing.T, dir string) string {
			add(t, filepath.Join(dir, ".git/info/exclude"), "new\n")
			put(t, filepath.Join(dir, "new/file"), "mine")
			return "new/file"
		},
	} {
		dir, side := forked(t)
		file := make(t, dir)
		before, status := plain(t, dir, "rev-parse", "main"), plain(t, dir, "status", "--porcelain")
		_, err := join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "merge"})
		var way *gitstate.InTheWay
		require.ErrorAs(t, err, &way, name)
		require.Contains(t, way.Files, file, name)
		require.Equal(t, before, plain(t, dir, "rev-parse", "main"))
		require.Equal(t, status, plain(t, dir, "status", "--porcelain"), name)
	}
	dir, side := forked(t)
	commit(t, side, "README.md", "# Of the side\n")
	commit(t, side, "ä \"b\"", "x")
	commit(t, dir, "ä \"b\"", "y")
	for _, j := range []gitstate.Join{{Into: "main", From: "side", Method: "merge"}, {From: "main", Method: "merge", Forward: true}, {From: "main", Method: "rebase"}} {
		at := plain(t, dir, "show-ref")
		_, err := join(t, g, side, j)
		var conflict *gitstate.Conflict
		require.ErrorAs(t, err, &conflict)
		require.Contains(t, conflict.Files, "README.md")
		require.Equal(t, at, plain(t, dir, "show-ref"))
		clean(t, dir, side)
	}
	dir, side = forked(t)
	commit(t, side, ".gitattributes", "*.bin filter=lfs\n")
	commit(t, side, "a.bin", "x")
	_, err := join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "merge"})
	require.ErrorContains(t, err, `"a.bin" passes the filter "lfs"`)
	clean(t, dir)
	plain(t, dir, "config", "core.autocrlf", "true")
	plain(t, side, "rm", "-q", "a.bin")
	plain(t, side, "commit", "-q", "-m", "x")
	_, err = join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "merge"})
	require.ErrorContains(t, err, "core.autocrlf")
}

// A folder takes a file's place, and a file a folder's.
func TestFilesAndFoldersChangePlacesInAMerge(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := newGit(t)
	dir, side := forked(t)
	plain(t, side, "rm", "-q", "-r", "new", "run")
	commit(t, side, "new", "a file now")
	commit(t, side, "run/a/b", "a folder now")
	_, err := join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "merge", Message: "all"})
	require.NoError(t, err)
	clean(t, dir)
	plain(t, side, "rm", "-q", "-r", "new", "run")
	commit(t, side, "new/x", "a folder again")
	commit(t, side, "run", "a file again")
	_, err = join(t, g, side, gitstate.Join{Into: "main", From: "side", Method: "merge"})
	require.NoError(t, err)
	clean(t, dir)
	require.Equal(t, "a file again", plain(t, dir, "show", "main:run"))
}

func TestNothingOfAHostileRepositoryRunsInAMerge(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g, done := newGit(t), 0
	from := repository(t)
	plain(t, from, "checkout", "-q", "-b", "other")
	commit(t, from, "theirs", "x")
	plain(t, from, "checkout", "-q", "main")
	commit(t, from, "ours", "x")
	named(t, from)
	for name, make := range hostile() {
		tr := newTrap(t)
		work := make(t, copied(t, from), tr.program)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		if r, err := gitstate.Find(work); err == nil {
			if at, err := r.Branch("other"); err == nil && at != "" {
				for _, method := range []string{"rebase", "merge"} {
					if _, err := g.Join(ctx, r, gitstate.Join{From: "other", Commit: at, Method: method, Begun: begun}); err == nil {
						done++
					}
				}
			}
		}
		cancel()
		require.Empty(t, tr.sprung(t), name)
	}
	require.Greater(t, done, 5)
}

func TestAKillBetweenTwoStepsOfAMergeLosesNothing(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := newGit(t)
	from, _ := forked(t)
	plain(t, from, "worktree", "remove", "side")
	put(t, filepath.Join(from, "other"), "mine")
	want := plain(t, from, "merge-tree", "main", "side")
	for at := 1; ; at++ {
		dir := copied(t, from)
		before := plain(t, dir, "rev-parse", "main")
		killed := killedAt(t, "merge", dir, at)
		plain(t, dir, "fsck")
		moved := plain(t, dir, "rev-parse", "main") != before
		if killed && !moved {
			_, err := acts()["merge"](g, dir)
			require.NoError(t, err, at)
		}
		require.Equal(t, want, plain(t, dir, "rev-parse", "main^{tree}"), at)
		require.Equal(t, before, plain(t, dir, "rev-parse", "main^1"))
		require.Equal(t, "?? other", plain(t, dir, "status", "--porcelain"), at)
		require.Empty(t, strings.TrimSpace(plain(t, dir, "ls-files", "--others", ":(glob)**/.abide-*")))
		require.NoFileExists(t, filepath.Join(dir, ".git/index.lock"))
		if !killed {
			require.Greater(t, at, 6)
			return
		}
	}
}
