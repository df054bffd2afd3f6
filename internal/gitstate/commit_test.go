package gitstate_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

// asPerson gives the repository a person who commits, and this process none.
func asPerson(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	named(t, dir)
}

func named(t *testing.T, dir string) {
	t.Helper()
	plain(t, dir, "config", "user.name", "Ada")
	plain(t, dir, "config", "user.email", "ada@example.org")
}

func begun(gitstate.Move) error { return nil }

func commitFiles(t *testing.T, g *gitstate.Git, dir string, paths ...string) (gitstate.Move, error) {
	t.Helper()
	return g.CommitFiles(t.Context(), find(t, dir), gitstate.NewCommit{Folder: dir, Paths: paths, Message: "a change \n\n\nits why\n\n", Begun: begun})
}

func TestACommitHasTheChosenFilesAsTheyAreOnDisk(t *testing.T) {
	g, dir := newGit(t), repository(t)
	asPerson(t, dir)
	commit(t, dir, "gone", "x")
	commit(t, dir, "other", "x")
	put(t, filepath.Join(dir, "other"), "staged")
	plain(t, dir, "add", "other")
	put(t, filepath.Join(dir, "other"), "and changed again")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone")))
	put(t, filepath.Join(dir, "README.md"), "# Changed\r\nmore\n")
	put(t, filepath.Join(dir, "new/a \"b\"\n\tö"), "odd name")
	put(t, filepath.Join(dir, "new/run"), "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "new/run"), 0o755))
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "new/out")))
	put(t, filepath.Join(dir, "left"), "not chosen")
	before := plain(t, dir, "rev-parse", "HEAD")

	made, err := commitFiles(t, g, dir, "README.md", "gone", "new/")
	require.NoError(t, err)
	require.Equal(t, before, made.Before)
	require.Equal(t, "main", made.Branch)
	require.Equal(t, made.After, plain(t, dir, "rev-parse", "main"))
	require.Equal(t, "MM other\n?? left", plain(t, dir, "status", "--porcelain"))
	require.Equal(t, "a change\n\nits why", plain(t, dir, "log", "-1", "--format=%B"))
	require.Equal(t, "Ada <ada@example.org> Ada "+before, plain(t, dir, "log", "-1", "--format=%an <%ae> %cn %P"))
	require.Equal(t, []string{"README.md", "new/a \"b\"\n\tö", "new/out", "new/run", "other"}, strings.Split(strings.TrimRight(plain(t, dir, "ls-tree", "-r", "-z", "--name-only", "HEAD"), "\x00"), "\x00"))
	require.Equal(t, "100644 blob\n100644 blob\n120000 blob\n100755 blob\n100644 blob", plain(t, dir, "ls-tree", "-r", "--format=%(objectmode) %(objecttype)", "HEAD"))
	require.Equal(t, "# Changed\r\nmore", plain(t, dir, "show", "HEAD:README.md"))
	require.Equal(t, "/etc", plain(t, dir, "show", "HEAD:new/out"))
	require.Equal(t, "commit: a change", plain(t, dir, "log", "-1", "-g", "--format=%gs"))
	require.Equal(t, "commit: a change", plain(t, dir, "log", "-1", "-g", "--format=%gs", "main"))
	require.Equal(t, "other", plain(t, dir, "diff-files", "--name-only"), "the index knows the files")
	plain(t, dir, "fsck", "--strict")

	_, err = commitFiles(t, g, dir, "README.md")
	require.ErrorIs(t, err, gitstate.ErrNothing)
	_, err = commitFiles(t, g, dir) // all
	require.NoError(t, err)
	require.Empty(t, plain(t, dir, "status", "--porcelain"))
	require.NoFileExists(t, filepath.Join(dir, ".git/index.lock"))
}

// shapes are repositories with a change, and what a commit says of them; empty where it
// is made.
func shapes() map[string]struct {
	says string
	make func(t *testing.T, dir string) string
} {
	type shape = struct {
		says string
		make func(t *testing.T, dir string) string
	}
	attributes := func(text, file, content string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			commit(t, dir, ".gitattributes", text)
			put(t, filepath.Join(dir, file), content)
			return dir
		}
	}
	setting := func(key, value, content string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			plain(t, dir, "config", key, value)
			put(t, filepath.Join(dir, "a.txt"), content)
			return dir
		}
	}
	diverged := func(t *testing.T, dir string) {
		plain(t, dir, "switch", "-q", "-c", "side")
		commit(t, dir, "README.md", "# Theirs\n")
		plain(t, dir, "switch", "-q", "main")
		commit(t, dir, "README.md", "# Ours\n")
	}
	fails := func(t *testing.T, dir string, args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		require.Error(t, cmd.Run())
	}
	return map[string]shape{
		"plain":               {"", setting("core.eol", "lf", "a\n")},
		"a filter":            {`"a.bin" passes the filter "lfs"`, attributes("*.bin filter=lfs\n", "a.bin", "x")},
		"a filter elsewhere":  {"", attributes("*.bin filter=lfs\n", "a.txt", "x")},
		"an encoding":         {`"a.txt" has the encoding "UTF-16"`, attributes("*.txt working-tree-encoding=UTF-16\n", "a.txt", "\xff\xfea\x00")},
		"ident":               {"the attribute ident", attributes("*.txt ident\n", "a.txt", "$Id$\n")},
		"CRLF and autocrlf":   {"line ends that core.autocrlf changes", setting("core.autocrlf", "true", "a\r\n")},
		"CRLF and input":      {"line ends that core.autocrlf changes", setting("core.autocrlf", "input", "a\r\n")},
		"LF and autocrlf":     {"", setting("core.autocrlf", "input", "a\n")},
		"binary and autocrlf": {"", setting("core.autocrlf", "true", "a\r\n\x00")},
		"CRLF and text":       {"line ends that the attributes text and eol changes", attributes("* text=auto\n", "a.txt", "a\r\n")},
		"CRLF and no text":    {"", attributes("* -text\n", "a.txt", "a\r\n")},
		"binary that is text": {"line ends", attributes("* text\n", "a.txt", "a\r\n\x00")},
		"a repository in it": {"is a repository of its own", func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, "in/x"), "x")
			plain(t, filepath.Join(dir, "in"), "init", "-q")
			return dir
		}},
		"no branch": {"no branch is checked out", func(t *testing.T, dir string) string {
			plain(t, dir, "switch", "-q", "--detach")
			put(t, filepath.Join(dir, "a"), "a")
			return dir
		}},
		"a merge in progress":  {"a merge, which is to be completed", func(t *testing.T, dir string) string { diverged(t, dir); fails(t, dir, "merge", "side"); return dir }},
		"a rebase in progress": {"a rebase, which is to be completed", func(t *testing.T, dir string) string { diverged(t, dir); fails(t, dir, "rebase", "side"); return dir }},
		"a conflict that stays": {"these files conflict: README.md", func(t *testing.T, dir string) string {
			diverged(t, dir)
			put(t, filepath.Join(dir, "README.md"), "# Mine\n")
			plain(t, dir, "stash", "-q")
			commit(t, dir, "README.md", "# Later\n")
			fails(t, dir, "stash", "pop")
			return dir
		}},
		"no commit yet": {"", func(t *testing.T, _ string) string {
			dir := t.TempDir()
			plain(t, dir, "init", "-q", "-b", "main")
			put(t, filepath.Join(dir, "a"), "a")
			return dir
		}},
		"sha256": {"", func(t *testing.T, _ string) string {
			dir := t.TempDir()
			plain(t, dir, "init", "-q", "-b", "main", "--object-format=sha256")
			commit(t, dir, "b", "b")
			put(t, filepath.Join(dir, "a"), "a")
			return dir
		}},
		"shallow": {"", func(t *testing.T, dir string) string {
			commit(t, dir, "b", "b")
			clone := filepath.Join(t.TempDir(), "clone")
			plain(t, dir, "clone", "-q", "--depth=1", "file://"+dir, clone)
			put(t, filepath.Join(clone, "a"), "a")
			return clone
		}},
		"a worktree of a worktree": {"", func(t *testing.T, dir string) string {
			one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
			plain(t, dir, "worktree", "add", "-q", one)
			plain(t, one, "worktree", "add", "-q", two)
			put(t, filepath.Join(two, "a"), "a")
			return two
		}},
		"a split index": {"", func(t *testing.T, dir string) string {
			plain(t, dir, "update-index", "--split-index")
			put(t, filepath.Join(dir, "a"), "a")
			return dir
		}},
		"no executable bits": {"", func(t *testing.T, dir string) string {
			plain(t, dir, "config", "core.fileMode", "false")
			put(t, filepath.Join(dir, "README.md"), "other")
			require.NoError(t, os.Chmod(filepath.Join(dir, "README.md"), 0o755))
			return dir
		}},
		"another case": {"", func(t *testing.T, dir string) string {
			require.NoError(t, os.Rename(filepath.Join(dir, "README.md"), filepath.Join(dir, "Readme.md")))
			return dir
		}},
		"a folder in a file's place": {"", func(t *testing.T, dir string) string {
			require.NoError(t, os.Remove(filepath.Join(dir, "README.md")))
			put(t, filepath.Join(dir, "README.md/a"), "a")
			return dir
		}},
	}
}

func TestACommitIsMadeOrRefusedInEveryShape(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := newGit(t)
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			dir := shape.make(t, repository(t))
			named(t, dir)
			status := plain(t, dir, "status", "--porcelain")
			before := refsOf(t, dir)
			_, err := commitFiles(t, g, dir)
			if shape.says == "" {
				require.NoError(t, err)
				require.Empty(t, plain(t, dir, "status", "--porcelain"))
				plain(t, dir, "fsck", "--strict")
				return
			}
			require.ErrorContains(t, err, shape.says)
			require.Equal(t, before, refsOf(t, dir))
			require.Equal(t, status, plain(t, dir, "status", "--porcelain"))
			require.NoFileExists(t, filepath.Join(dir, ".git/index.lock"))
		})
	}
}

func refsOf(t *testing.T, dir string) string {
	t.Helper()
	out, _ := exec.Command("git", "-C", dir, "show-ref", "--head").Output() // an empty repository has none
	return string(out)
}

func TestACommitOfNobodyIsRefused(t *testing.T) {
	g, dir := newGit(t), repository(t)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	put(t, filepath.Join(dir, "a"), "a")
	_, err := commitFiles(t, g, dir)
	require.ErrorIs(t, err, gitstate.ErrNoPerson)
	put(t, os.Getenv("GIT_CONFIG_GLOBAL"), "[user]\n name = Eve\n email = eve@example.org\n[includeIf \"gitdir:/home/ada/\"]\n path = other\n")
	_, err = commitFiles(t, g, dir)
	require.ErrorContains(t, err, "includes other files")
	put(t, os.Getenv("GIT_CONFIG_GLOBAL"), "[user]\n name = Eve\n email = eve@example.org\n")
	_, err = commitFiles(t, g, dir)
	require.NoError(t, err)
	require.Equal(t, "Eve", plain(t, dir, "log", "-1", "--format=%an"))
}

// No program of a repository runs, whether it commits or refuses.
func TestNothingOfAHostileRepositoryRunsInACommit(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g, from, done := newGit(t), mergeable(t), 0
	for name, make := range hostile() {
		tr := newTrap(t)
		work := make(t, copied(t, from), tr.program)
		if _, err := exec.Command("git", "config", "-f", filepath.Join(work, ".git/config"), "user.name", "a").Output(); err == nil {
			_ = exec.Command("git", "config", "-f", filepath.Join(work, ".git/config"), "user.email", "a@b").Run()
		}
		put(t, filepath.Join(work, "new"), "new")
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		if r, err := gitstate.Find(work); err == nil {
			if _, err := g.CommitFiles(ctx, r, gitstate.NewCommit{Folder: work, Paths: []string{"new"}, Message: "m", Begun: begun}); err == nil {
				done++
			}
		}
		cancel()
		require.Empty(t, tr.sprung(t), name)
	}
	require.Greater(t, done, 5)
}

const (
	killEnv = "ABIDE_TEST_KILL_AT"
	killDir = "ABIDE_TEST_KILL_DIR"
)

// TestKilledAt is run by others as a child: it acts, and is killed at a step.
func TestKilledAt(t *testing.T) {
	at, err := strconv.Atoi(os.Getenv(killEnv))
	if err != nil {
		t.Skip("only as a child")
	}
	g, steps := newGit(t), 0
	g.OnStep(func(string) {
		if steps++; steps == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	_, _ = acts()[os.Getenv("ABIDE_TEST_KILL_ACT")](g, os.Getenv(killDir))
	fmt.Println("whole")
}

// acts are changes of a repository that a test kills.
func acts() map[string]func(*gitstate.Git, string) (gitstate.Move, error) {
	return map[string]func(*gitstate.Git, string) (gitstate.Move, error){
		"commit": func(g *gitstate.Git, dir string) (gitstate.Move, error) {
			r, err := gitstate.Find(dir)
			if err != nil {
				return gitstate.Move{}, err
			}
			return g.CommitFiles(context.Background(), r, gitstate.NewCommit{Folder: dir, Paths: []string{"README.md", "new"}, Message: "m", Begun: begun})
		},
		"merge": func(g *gitstate.Git, dir string) (gitstate.Move, error) {
			r, err := gitstate.Find(dir)
			if err != nil {
				return gitstate.Move{}, err
			}
			at, err := r.Branch("side")
			if err != nil {
				return gitstate.Move{}, err
			}
			return g.Join(context.Background(), r, gitstate.Join{Into: "main", From: "side", Commit: at, Method: "merge", Begun: begun})
		},
	}
}

// killedAt runs an act in a child that is killed at a step, and reports whether it was.
func killedAt(t *testing.T, act, dir string, at int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledAt$")
	cmd.Env = append(os.Environ(), killEnv+"="+strconv.Itoa(at), killDir+"="+dir, "ABIDE_TEST_KILL_ACT="+act)
	out, err := cmd.CombinedOutput()
	whole := strings.Contains(string(out), "whole")
	require.Equal(t, whole, err == nil, string(out))
	return !whole
}

func TestAKillBetweenTwoStepsOfACommitLosesNothing(t *testing.T) {
	g, from := newGit(t), repository(t)
	asPerson(t, from)
	commit(t, from, "other", "x")
	put(t, filepath.Join(from, "other"), "staged")
	plain(t, from, "add", "other")
	for at := 1; ; at++ {
		dir := copied(t, from)
		put(t, filepath.Join(dir, "README.md"), "# Changed\n")
		put(t, filepath.Join(dir, "new"), "new")
		before := plain(t, dir, "rev-parse", "main")
		killed := killedAt(t, "commit", dir, at)
		plain(t, dir, "fsck")
		if plain(t, dir, "rev-parse", "main") == before {
			_, err := acts()["commit"](g, dir)
			require.NoError(t, err, at)
		} else if killed { // as after a kill of git, the index is the old one
			_, err := acts()["commit"](g, dir)
			require.ErrorIs(t, err, gitstate.ErrNothing)
			plain(t, dir, "reset", "-q", "README.md", "new")
		}
		require.Equal(t, before, plain(t, dir, "rev-parse", "main~1"))
		require.Equal(t, "M  other", plain(t, dir, "status", "--porcelain"), at)
		require.Equal(t, "# Changed", plain(t, dir, "show", "main:README.md"))
		require.NoFileExists(t, filepath.Join(dir, ".git/index.lock"))
		if !killed {
			require.Greater(t, at, 3)
			return
		}
	}
}

func TestAGitThatFailsInACommitChangesNothing(t *testing.T) {
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	from := repository(t)
	asPerson(t, from)
	put(t, filepath.Join(from, "README.md"), "# Changed\n")
	put(t, filepath.Join(from, "new"), "new")
	for at := 2; ; at++ { // the first is git version
		dir, count := copied(t, from), filepath.Join(t.TempDir(), "count")
		put(t, count, "")
		g, err := gitstate.New(t.Context(), fakeGit(t, fmt.Sprintf("echo >> %s\n[ $(wc -l < %s) = %d ] && exit 7\nexec %s \"$@\"\n", count, count, at, real)))
		require.NoError(t, err)
		before := plain(t, dir, "rev-parse", "main")
		_, err = acts()["commit"](g, dir)
		if err == nil && at > 10 {
			return
		}
		if err != nil {
			require.Equal(t, before, plain(t, dir, "rev-parse", "main"), at)
			require.Equal(t, "M README.md\n?? new", plain(t, dir, "status", "--porcelain"), at)
			_, err = acts()["commit"](g, dir)
			require.NoError(t, err, at)
		}
		require.Empty(t, plain(t, dir, "status", "--porcelain"), at)
	}
}
