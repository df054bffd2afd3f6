package gitstate_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/stretchr/testify/require"
)

func TestHeadIsReadFromFiles(t *testing.T) {
	dir := repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	head := func(dir string) gitstate.Head {
		h, err := find(t, dir).Head()
		require.NoError(t, err)
		return h
	}
	require.Equal(t, gitstate.Head{Branch: "main", Commit: first}, head(dir))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	require.Equal(t, gitstate.Head{Branch: "main", Commit: first}, head(filepath.Join(dir, "below")), "a folder of the repository")

	plain(t, dir, "pack-refs", "--all")
	require.Equal(t, gitstate.Head{Branch: "main", Commit: first}, head(dir), "packed refs")
	plain(t, dir, "checkout", "-q", "--detach")
	require.Equal(t, gitstate.Head{Commit: first}, head(dir), "detached")
	linked := filepath.Join(t.TempDir(), "linked")
	plain(t, dir, "worktree", "add", "-q", "-b", "feature/side", linked)
	require.Equal(t, gitstate.Head{Branch: "feature/side", Commit: first}, head(linked), "a linked worktree")

	unborn := t.TempDir()
	plain(t, unborn, "init", "-q", "-b", "trunk")
	require.Equal(t, gitstate.Head{Branch: "trunk"}, head(unborn), "no commit yet")
	_, err := gitstate.Find(t.TempDir())
	require.ErrorIs(t, err, gitstate.ErrNone)
}

func TestHostileFilesOfARepositoryAreRefused(t *testing.T) {
	secret := strings.Repeat("5ec2e7", 6) + "abcd"
	outside := filepath.Join(t.TempDir(), "secret")
	put(t, outside, secret)
	for name, spoil := range map[string]func(git string){
		"ref outside refs":   func(git string) { put(t, filepath.Join(git, "HEAD"), "ref: refs/../../../"+outside) },
		"absolute ref":       func(git string) { put(t, filepath.Join(git, "HEAD"), "ref: "+outside) },
		"refs in a circle":   func(git string) { put(t, filepath.Join(git, "refs/heads/main"), "ref: refs/heads/main") },
		"endless HEAD":       func(git string) { put(t, filepath.Join(git, "HEAD"), strings.Repeat("x", 1<<20)) },
		"HEAD is not a file": func(git string) { fifo(t, filepath.Join(git, "HEAD")) },
		"ref is not a file":  func(git string) { fifo(t, filepath.Join(git, "refs/heads/main")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			spoil(filepath.Join(dir, ".git"))
			h, err := find(t, dir).Head()
			require.Error(t, err)
			require.Empty(t, h.Commit)
			require.NotContains(t, err.Error(), secret)
		})
	}
}

func fifo(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

func TestIdentity(t *testing.T) {
	g := newGit(t)
	dir := repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	second := commit(t, dir, "a", "a")
	plain(t, dir, "remote", "add", "origin", "https://me:hunter2@example.org/a.git?token=hunter2")
	id, err := g.Identify(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, first, id.Root)
	require.Equal(t, gitstate.Head{Branch: "main", Commit: second}, id.Head)
	require.Equal(t, "https://example.org/a.git", id.Remote)
	require.NotZero(t, id.Inode)
	require.Equal(t, dir, id.Path)

	plainFolder := t.TempDir()
	id, err = g.Identify(t.Context(), plainFolder)
	require.NoError(t, err)
	require.NotZero(t, id.Inode)
	require.Equal(t, gitstate.Identity{Path: plainFolder, Device: id.Device, Inode: id.Inode}, id)

	var none *gitstate.Git
	id, err = none.Identify(t.Context(), dir)
	require.NoError(t, err, "without git, files say branch and commit")
	require.Equal(t, gitstate.Head{Branch: "main", Commit: second}, id.Head)
}

func TestTheRemoteHoldsNoUserAndNoPassword(t *testing.T) {
	g := newGit(t)
	dir := repository(t)
	for address, want := range map[string]string{
		"https://user:hunter2@example.org/a": "https://example.org/a",
		"https://hunter2@example.org/a":      "https://example.org/a",
		"https://user:hun/ter2@example.org":  "",
		"git@example.org:a/b.git":            "example.org:a/b.git",
		"user:hunter2@example.org:a/b.git":   "example.org:a/b.git",
		"ssh://git@example.org:22/a":         "ssh://example.org:22/a",
		"ext::sh -c hunter2":                 "",
		"/srv/git/a":                         "/srv/git/a",
	} {
		plain(t, dir, "config", "remote.origin.url", address)
		id, err := g.Identify(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, want, id.Remote, address)
	}
}

func TestStatusAndDiffOfThousandsFiles(t *testing.T) {
	g := newGit(t)
	dir := repository(t)
	for i := range 2_000 {
		put(t, filepath.Join(dir, fmt.Sprintf("new file %d", i)), "")
	}
	put(t, filepath.Join(dir, "README.md"), "# Changed\n")
	r := find(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	s, err := g.Status(ctx, r, dir, 50)
	require.NoError(t, err)
	require.Equal(t, 2_001, s.Total)
	require.Len(t, s.Files, 50)
	require.Equal(t, gitstate.Change{Code: " M", Path: "README.md"}, s.Files[0])
	require.Equal(t, gitstate.Change{Code: "??", Path: "new file 0"}, s.Files[1])
	stat, err := g.DiffStat(ctx, r, dir, "HEAD", 50)
	require.NoError(t, err)
	require.Contains(t, stat, "1 file changed")
}

func TestStatusKeepsToTheFolder(t *testing.T) {
	g := newGit(t)
	dir := repository(t)
	put(t, filepath.Join(dir, "below/here"), "")
	put(t, filepath.Join(dir, "there"), "")
	plain(t, dir, "config", "core.worktree", "/")
	s, err := g.Status(t.Context(), find(t, filepath.Join(dir, "below")), filepath.Join(dir, "below"), 50)
	require.NoError(t, err)
	require.Equal(t, []gitstate.Change{{Code: "??", Path: "below/"}}, s.Files)
}

// A fake git prints the arguments of the real one.
func fakeGit(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	makeProgram(t, path, "#!/bin/sh\n[ \"$1\" = version ] && { echo \"git version 2.39.5\"; exit; }\n"+script)
	return path
}

func TestAGitThatHangsEndsWithItsChildrenAtTheTimeLimit(t *testing.T) {
	g, err := gitstate.New(t.Context(), fakeGit(t, "sleep 600 & wait"))
	require.NoError(t, err)
	dir := repository(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	id, err := g.Identify(ctx, dir)
	require.NoError(t, err)
	require.Equal(t, "main", id.Branch, "files say it all the same")
	_, err = g.Status(ctx, find(t, dir), dir, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), bound/2)
}

func TestEndlessOutputIsBounded(t *testing.T) {
	g, err := gitstate.New(t.Context(), fakeGit(t, "exec yes"))
	require.NoError(t, err)
	dir := repository(t)
	_, err = g.Status(t.Context(), find(t, dir), dir, 1)
	require.ErrorIs(t, err, gitstate.ErrTooLarge)
}

func TestGitGetsNothingOfTheHubsEnvironment(t *testing.T) {
	t.Setenv("ABIDE_TEST_SECRET", "hunter2")
	t.Setenv("GIT_EXTERNAL_DIFF", "/bin/evil")
	seen := filepath.Join(t.TempDir(), "seen")
	g, err := gitstate.New(t.Context(), fakeGit(t, "env >> "+seen))
	require.NoError(t, err)
	dir := repository(t)
	_, err = g.Status(t.Context(), find(t, dir), dir, 1)
	require.NoError(t, err)
	env, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.Contains(t, string(env), "GIT_CONFIG_GLOBAL=/dev/null")
	require.NotContains(t, string(env), "hunter2")
	require.NotContains(t, string(env), "evil")
}

func TestAnOldGitIsRefused(t *testing.T) {
	_, err := gitstate.New(t.Context(), fakeGit(t, "")+"-missing")
	require.ErrorIs(t, err, gitstate.ErrUnavailable)
	old := filepath.Join(t.TempDir(), "git")
	makeProgram(t, old, "#!/bin/sh\necho git version 2.31.9\n")
	_, err = gitstate.New(t.Context(), old)
	require.ErrorIs(t, err, gitstate.ErrUnavailable)
	require.ErrorContains(t, err, gitstate.MinVersion)
}

func TestAStoreIsItsOwnersAlone(t *testing.T) {
	syscall.Umask(0)
	defer syscall.Umask(0o022)
	g, dir, folder := newGit(t), filepath.Join(t.TempDir(), "store.git"), t.TempDir()
	put(t, filepath.Join(folder, "a"), "a")
	r, err := gitstate.Store(dir, folder)
	require.NoError(t, err)
	text := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("a")), nil }
	s, err := g.WriteState(t.Context(), r, "", nil, []gitstate.Changed{{Entry: gitstate.Entry{Mode: gitstate.ModeFile, Path: "a"}, Open: text, Size: 1}}, "words\n", time.Now())
	require.NoError(t, err)
	require.NoError(t, r.KeepState(t.Context(), "group", "1", s.Commit))
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	}))
}
