package gitstate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

func TestAWorktreeHasTheFilesOfItsCommit(t *testing.T) {
	dir := repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	commit(t, dir, "README.md", "# Later\n")
	put(t, filepath.Join(dir, "README.md"), "# Not committed\n")
	linked := filepath.Join(t.TempDir(), "linked")
	plain(t, dir, "worktree", "add", "-q", "-b", "side", linked)
	g := newGit(t)
	for name, from := range map[string]string{"from the main worktree": dir, "from a linked one": linked} {
		t.Run(name, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "made")
			require.NoError(t, g.AddWorktree(t.Context(), find(t, from), made, gitstate.Mark{Request: "r", Commit: first}))
			text, err := os.ReadFile(filepath.Join(made, "README.md"))
			require.NoError(t, err)
			require.Equal(t, "# A workspace\n", string(text))
			head, err := find(t, made).Head()
			require.NoError(t, err)
			require.Equal(t, gitstate.Head{Commit: first}, head)
			require.Empty(t, plain(t, made, "status", "--porcelain"))
			require.ErrorIs(t, g.AddWorktree(t.Context(), find(t, from), made, gitstate.Mark{Request: "r2", Commit: first}), os.ErrExist)

			require.NoError(t, g.RemoveWorktree(t.Context(), find(t, from), *madeFor(t, find(t, from), "r"), gitstate.Removal{}))
			require.NoDirExists(t, made)
			require.NotContains(t, plain(t, dir, "worktree", "list"), made)
		})
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	require.Equal(t, "# Not committed\n", string(text))
}

func TestAWorktreeThatNeedsMoreThanGitIsRefused(t *testing.T) {
	g := newGit(t)
	for name, make := range map[string]func(t *testing.T, dir string){
		"a filter": func(t *testing.T, dir string) {
			commit(t, dir, "a.psd", "x")
			commit(t, dir, ".gitattributes", "# filter=none\n*.bin -filter\n*.psd filter=lfs diff=lfs -text\n")
		},
		"a filter below": func(t *testing.T, dir string) {
			commit(t, dir, "below/.gitattributes", "* filter=crypt\n")
		},
		"a filter of this copy alone": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, ".git/info/attributes"), "* filter=crypt\n")
		},
		"an encoding": func(t *testing.T, dir string) {
			commit(t, dir, ".gitattributes", "*.txt working-tree-encoding=UTF-16\n")
			commit(t, dir, "a.txt", "\xff\xfea\x00")
		},
		"a submodule": func(t *testing.T, dir string) {
			plain(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repository(t), "inner")
			plain(t, dir, "commit", "-q", "-m", "submodule")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			make(t, dir)
			made := filepath.Join(t.TempDir(), "made")
			err := g.AddWorktree(t.Context(), find(t, dir), made, gitstate.Mark{Branch: "b", Commit: plain(t, dir, "rev-parse", "HEAD")})
			require.ErrorIs(t, err, gitstate.ErrUnsuited)
			require.NoDirExists(t, made)
			require.Equal(t, "main", plain(t, dir, "branch", "--format=%(refname:short)"))
		})
	}
	dir := repository(t)
	require.Error(t, g.AddWorktree(t.Context(), find(t, dir), filepath.Join(t.TempDir(), "made"), gitstate.Mark{Commit: "--upload-pack=x"}))
}

func madeFor(t *testing.T, r *gitstate.Repository, request string) *gitstate.Linked {
	t.Helper()
	l, err := r.MadeFor(request)
	require.NoError(t, err)
	require.NotNil(t, l)
	return l
}

func TestAWorktreeHasAFreshBranch(t *testing.T) {
	g, dir := newGit(t), repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	made := filepath.Join(t.TempDir(), "a made one")
	m := gitstate.Mark{Request: "r", Branch: "abide/fix-it", Commit: first, Base: "main"}
	require.NoError(t, g.AddWorktree(t.Context(), find(t, dir), made, m))
	require.Equal(t, "abide/fix-it", plain(t, made, "symbolic-ref", "--short", "HEAD"))
	require.Empty(t, plain(t, made, "status", "--porcelain"))
	require.Contains(t, plain(t, dir, "worktree", "list"), "[abide/fix-it]")
	plain(t, dir, "fsck")
	require.Equal(t, &m, madeFor(t, find(t, dir), "r").Mark)
	for _, taken := range []string{"abide/fix-it", "abide/fix-it/more", "abide", "main", "main/a"} {
		m := gitstate.Mark{Request: taken, Branch: taken, Commit: first}
		for range 2 { // loose, then packed
			other := filepath.Join(t.TempDir(), "other")
			require.ErrorIs(t, g.AddWorktree(t.Context(), find(t, dir), other, m), gitstate.ErrBranchExists, taken)
			require.NoDirExists(t, other)
			plain(t, dir, "pack-refs", "--all")
		}
	}
	commit(t, made, "work", "w")
	require.ErrorIs(t, find(t, dir).DeleteBranch(t.Context(), "abide/fix-it", first), gitstate.ErrMoved)
	tip := plain(t, made, "rev-parse", "HEAD")
	plain(t, dir, "pack-refs", "--all")
	plain(t, dir, "tag", "-a", "-m", "t", "t")
	plain(t, dir, "pack-refs", "--all")
	require.NoError(t, find(t, dir).DeleteBranch(t.Context(), "abide/fix-it", tip))
	require.Equal(t, "main", plain(t, dir, "branch", "--format=%(refname:short)"))
	require.Equal(t, first, plain(t, dir, "rev-parse", "t^{commit}"))
	require.NoError(t, find(t, dir).DeleteBranch(t.Context(), "abide/fix-it", tip), "once more")
}

func TestACommitIsFoundByWhatAPersonCallsIt(t *testing.T) {
	g, dir := newGit(t), repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	second := commit(t, dir, "a", "a")
	plain(t, dir, "tag", "-a", "-m", "one", "v1", first)
	plain(t, dir, "branch", "feature/x", first)
	plain(t, dir, "update-ref", "refs/remotes/origin/main", first)
	for range 2 {
		for name, want := range map[string][2]string{
			"main": {second, "main"}, "HEAD": {second, ""}, "main~1": {first, ""}, "v1": {first, ""}, "HEAD^": {first, ""},
			"feature/x": {first, "feature/x"}, "refs/heads/feature/x": {first, "feature/x"}, "origin/main": {first, ""},
			first: {first, ""}, first[:9]: {first, ""},
		} {
			commit, branch, err := g.Commit(t.Context(), find(t, dir), name)
			require.NoError(t, err, name)
			require.Equal(t, want, [2]string{commit, branch}, name)
		}
		plain(t, dir, "pack-refs", "--all")
	}
	for _, name := range []string{"", "nope", "--all", "main:a", "main@{1}", "-", "..", "refs/heads/../../HEAD", "0000000000"} {
		_, _, err := g.Commit(t.Context(), find(t, dir), name)
		require.ErrorIs(t, err, gitstate.ErrNoRef, name)
	}
}

// killed is what a test throws in the place of a kill: no step after it runs.
type killed struct{}

// A worktree is made again after a kill before each step, and removed again.
func TestAKillBetweenTwoStepsOfAWorktreeLosesNothing(t *testing.T) {
	g := newGit(t)
	commitOf := func(dir string) string { return plain(t, dir, "rev-parse", "main") }
	run := func(at int, f func() error) (steps []string, err error) {
		defer func() {
			g.OnStep(nil)
			if p := recover(); p != nil && p != any(killed{}) {
				panic(p)
			}
		}()
		g.OnStep(func(step string) {
			if steps = append(steps, step); len(steps) == at {
				panic(killed{})
			}
		})
		return steps, f()
	}
	for at := 1; ; at++ {
		dir, made := repository(t), filepath.Join(t.TempDir(), "made")
		commit(t, dir, "below/a", "a")
		put(t, filepath.Join(dir, "mine"), "not committed")
		m := gitstate.Mark{Request: "r", Branch: "abide/b", Commit: commitOf(dir)}
		add := func() error { return g.AddWorktree(t.Context(), find(t, dir), made, m) }
		steps, err := run(at, add)
		require.NoError(t, err)
		step := steps[len(steps)-1]
		if whole := len(steps) < at; !whole {
			_, err = run(at+1, add) // killed once more, a step later or not at all
			require.NoError(t, err, step)
		}
		if l, err := find(t, dir).MadeFor("r"); err == nil && (l == nil || l.Unfinished) {
			require.NoError(t, add(), step)
		}
		require.Equal(t, "abide/b", plain(t, made, "symbolic-ref", "--short", "HEAD"), step)
		require.Empty(t, plain(t, made, "status", "--porcelain"), step)
		require.Equal(t, "?? mine", plain(t, dir, "status", "--porcelain"), step)
		require.ErrorIs(t, add(), os.ErrExist, "it is whole")

		put(t, filepath.Join(made, "z"), "z")
		outside := filepath.Join(t.TempDir(), "outside")
		put(t, outside, "stays")
		require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(made, "out")))
		commit(t, made, "work", "w")
		tip, told := plain(t, made, "rev-parse", "HEAD"), 0
		how := gitstate.Removal{Gone: func() error { told++; return nil }}
		if goes := at%2 == 0; goes {
			how.BranchAt = tip
		}
		remove := func(how gitstate.Removal) error {
			return g.RemoveWorktree(t.Context(), find(t, dir), *madeFor(t, find(t, dir), "r"), how)
		}
		removed, err := run(at, func() error { return remove(how) })
		require.NoError(t, err)
		how.BranchAt = "" // what becomes of the branch was decided
		if l, err := find(t, dir).MadeFor("r"); err == nil && l != nil && l.Unfinished {
			require.True(t, l.Removing, removed)
			require.NoError(t, remove(how), removed)
		}
		require.NotZero(t, told, removed)
		require.NoDirExists(t, made)
		plain(t, dir, "worktree", "prune") // of the first step a folder without a name is left, as git leaves it
		require.NoDirExists(t, filepath.Join(dir, ".git/worktrees"))
		require.FileExists(t, outside)
		if at%2 == 0 {
			require.NotContains(t, plain(t, dir, "branch", "--list"), "abide/b", "the branch goes with it: %s", removed)
		} else {
			require.Equal(t, tip, plain(t, dir, "rev-parse", "abide/b"), "the branch stays: %s", removed)
		}
		if len(steps) < at && len(removed) < at && at%2 == 0 {
			break
		}
	}
}

func TestAPersonsFolderAndBranchAreNotTakenForTheHubs(t *testing.T) {
	g, dir, made := newGit(t), repository(t), filepath.Join(t.TempDir(), "made")
	m := gitstate.Mark{Request: "r", Branch: "abide/b", Commit: plain(t, dir, "rev-parse", "main")}
	func() {
		defer func() { recover(); g.OnStep(nil) }()
		g.OnStep(func(step string) {
			if step == "begun" {
				panic(killed{})
			}
		})
		_ = g.AddWorktree(t.Context(), find(t, dir), made, m)
	}()
	put(t, filepath.Join(made, "a"), "a person's")
	plain(t, dir, "switch", "-q", "-c", "abide/b")
	require.ErrorIs(t, g.AddWorktree(t.Context(), find(t, dir), made, m), os.ErrExist)
	require.FileExists(t, filepath.Join(made, "a"))
	require.NoError(t, os.RemoveAll(made))
	require.ErrorIs(t, g.AddWorktree(t.Context(), find(t, dir), made, m), gitstate.ErrBranchExists)
	require.Equal(t, m.Commit, plain(t, dir, "rev-parse", "abide/b"))
}

// Several programs make worktrees of one repository at once.
func TestWorktreesThatAreMadeAtOnceWaitForEachOther(t *testing.T) {
	dir, place := repository(t), t.TempDir()
	commit := plain(t, dir, "rev-parse", "main")
	var all sync.WaitGroup
	failed := make(chan error, 16)
	for i := range 8 {
		g := newGit(t) // as another hub's: with slots of its own
		all.Go(func() {
			m := gitstate.Mark{Request: fmt.Sprint(i), Branch: fmt.Sprintf("abide/%d", i), Commit: commit}
			failed <- g.AddWorktree(t.Context(), find(t, dir), filepath.Join(place, fmt.Sprint(i), "same"), m)
		})
		require.NoError(t, os.Mkdir(filepath.Join(place, fmt.Sprint(i)), 0o755))
	}
	all.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	require.Len(t, strings.Split(plain(t, dir, "worktree", "list"), "\n"), 9)
	plain(t, dir, "fsck")
	held := filepath.Join(dir, ".git/refs/heads/held.lock")
	put(t, held, "")
	waited := make(chan error, 1)
	go func() {
		waited <- newGit(t).AddWorktree(t.Context(), find(t, dir), filepath.Join(place, "held"), gitstate.Mark{Request: "h", Branch: "held", Commit: commit})
	}()
	require.Eventually(t, func() bool { l, _ := find(t, dir).MadeFor("h"); return l != nil }, bound, time.Millisecond)
	require.NoError(t, os.Remove(held))
	require.NoError(t, <-waited)
}

func TestFilesAreWrittenBelowTheirFolderAlone(t *testing.T) {
	g, dir := newGit(t), repository(t)
	commit(t, dir, "deep/er/a", "text")
	require.NoError(t, os.Symlink("../../outside", filepath.Join(dir, "deep/out")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "deep/er/a"), 0o755))
	plain(t, dir, "add", ".")
	plain(t, dir, "commit", "-q", "-m", "link")
	r := find(t, dir)
	good, err := g.Tree(t.Context(), r, plain(t, dir, "rev-parse", "HEAD"))
	require.NoError(t, err)
	to := t.TempDir()
	root, err := os.OpenRoot(to)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, g.WriteFiles(t.Context(), r, root, good))
	info, err := os.Stat(filepath.Join(to, "deep/er/a"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100)
	at, err := os.Readlink(filepath.Join(to, "deep/out"))
	require.NoError(t, err)
	require.Equal(t, "../../outside", at)
	require.ErrorIs(t, g.WriteFiles(t.Context(), r, root, good), os.ErrExist, "a file that is there stays")

	blob := good[0].Object
	for _, path := range []string{"../a", "/a", "a//b", "./a", ".git/config", "x/.GIT/config", ".git./a", ".git /a", "git~1/a", ".g\u200cit/a", ".git::$INDEX_ALLOCATION/a", ""} {
		err := g.WriteFiles(t.Context(), r, root, []gitstate.Entry{{Mode: "100644", Object: blob, Path: path}})
		require.ErrorIs(t, err, gitstate.ErrUnsuited, path)
	}
	through := []gitstate.Entry{{Mode: "120000", Object: blob, Path: "way"}, {Mode: "100644", Object: blob, Path: "way/a"}}
	require.ErrorIs(t, g.WriteFiles(t.Context(), r, root, through), os.ErrExist, "a link in the place of a folder")
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(to, "led")))
	require.Error(t, g.WriteFiles(t.Context(), r, root, []gitstate.Entry{{Mode: "100644", Object: blob, Path: "led/a"}}), "a link that was there")
}

// A kill just after abide noted for whom it makes a worktree leaves one that is unfinished: the
// same request makes it.
func TestAWorktreeOfWhichOnlyTheMarkIsThereIsMade(t *testing.T) {
	for _, locked := range []bool{false, true} {
		dir := repository(t)
		first := plain(t, dir, "rev-parse", "HEAD")
		begun := filepath.Join(dir, ".git", "worktrees", "made")
		require.NoError(t, os.MkdirAll(begun, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(begun, "abide"), []byte(`{"request":"r","branch":"b","commit":"`+first+`"}`+"\n"), 0o600))
		if locked {
			require.NoError(t, os.WriteFile(filepath.Join(begun, "locked"), nil, 0o600))
		}
		l, err := find(t, dir).MadeFor("r")
		require.NoError(t, err)
		require.True(t, l.Unfinished)
		require.False(t, l.Locked)
		made := filepath.Join(t.TempDir(), "made")
		require.NoError(t, newGit(t).AddWorktree(t.Context(), find(t, dir), made, gitstate.Mark{Request: "r", Branch: "b", Commit: first}))
		l, err = find(t, dir).MadeFor("r")
		require.NoError(t, err)
		require.False(t, l.Unfinished)
		require.Equal(t, made, l.Folder)
	}
}
