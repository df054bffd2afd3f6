package gitstate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

// told is all that the hub says of a workspace's repository.
func told(t *testing.T, work string) string {
	t.Helper()
	g := newGit(t)
	var said strings.Builder
	id, err := g.Identify(t.Context(), work)
	require.NoError(t, err)
	said.WriteString(id.Branch + " " + id.Commit + " " + id.Remote + " " + id.Root)
	if r, err := gitstate.Find(work); err == nil {
		if h, err := r.Head(); err == nil {
			said.WriteString(" " + h.Branch + " " + h.Commit)
		}
		s, _ := g.Status(t.Context(), r, work, 10)
		for _, f := range s.Files {
			said.WriteString(" " + f.Path)
		}
		names, _ := g.Run(t.Context(), r, work, "ls-files", "-z", "--cached")
		said.Write(names)
	}
	return said.String()
}

func TestTheRepositoryOfAnotherIsNotTold(t *testing.T) {
	link := func(name string) func(t *testing.T, work, other string) {
		return func(t *testing.T, work, other string) {
			require.NoError(t, os.RemoveAll(filepath.Join(work, ".git", name)))
			require.NoError(t, os.Symlink(filepath.Join(other, ".git", name), filepath.Join(work, ".git", name)))
		}
	}
	file := func(text string) func(t *testing.T, work, other string) {
		return func(t *testing.T, work, other string) {
			require.NoError(t, os.RemoveAll(filepath.Join(work, ".git")))
			put(t, filepath.Join(work, ".git"), "gitdir: "+strings.ReplaceAll(text, "OTHER", other)+"\n")
		}
	}
	const linked = "OTHER/.git/worktrees/linked"
	for name, spoil := range map[string]func(t *testing.T, work, other string){
		"a .git file":                       file("OTHER/.git"),
		"a .git file for a linked worktree": file(linked),
		"a .git file for a submodule":       file("OTHER/.git/modules/inner"),
		"HEAD":                              link("HEAD"),
		"index":                             link("index"),
		"config":                            link("config"),
		"packed-refs": func(t *testing.T, work, other string) {
			require.NoError(t, os.Remove(filepath.Join(work, ".git/refs/heads/main")))
			put(t, filepath.Join(work, ".git/packed-refs"), "")
			link("packed-refs")(t, work, other)
		},
		"refs":             link("refs"),
		"refs/heads":       link("refs/heads"),
		"refs/heads/main":  link("refs/heads/main"),
		"objects and HEAD": func(t *testing.T, work, other string) { link("objects")(t, work, other); link("refs")(t, work, other) },
		"an included configuration": func(t *testing.T, work, other string) {
			add(t, filepath.Join(work, ".git/config"), "\n[include]\n path = "+other+"/.git/config\n")
		},
		"a link in the place of .git": func(t *testing.T, work, other string) {
			require.NoError(t, os.RemoveAll(filepath.Join(work, ".git")))
			require.NoError(t, os.Symlink(filepath.Join(other, ".git"), filepath.Join(work, ".git")))
		},
		"commondir": func(t *testing.T, work, other string) {
			put(t, filepath.Join(work, ".git/commondir"), other+"/.git\n")
		},
		"commondir that is too long": func(t *testing.T, work, other string) {
			put(t, filepath.Join(work, ".git/commondir"), strings.Repeat("/", 5000)+other+"/.git\n")
		},
		"a made-up linked worktree of it": func(t *testing.T, work, other string) {
			made := t.TempDir()
			put(t, filepath.Join(made, "HEAD"), "ref: refs/heads/private-branch\n")
			put(t, filepath.Join(made, "commondir"), other+"/.git\n")
			put(t, filepath.Join(made, "gitdir"), work+"/.git\n")
			file(made)(t, work, other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, work := repository(t), repository(t)
			plain(t, other, "checkout", "-q", "-b", "private-branch")
			plain(t, other, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repository(t), "inner")
			commit(t, other, "private-name", "x")
			secret := commit(t, other, "private-other", "x")
			plain(t, other, "branch", "-f", "main")
			plain(t, other, "pack-refs", "--all", "--no-prune")
			plain(t, other, "worktree", "add", "-q", "-b", "private-side", filepath.Join(t.TempDir(), "linked"))
			plain(t, other, "remote", "add", "origin", "git@private-host:a/b.git")
			spoil(t, work, other)
			said := told(t, work)
			assert.NotContains(t, said, "private")
			assert.NotContains(t, said, secret)
		})
	}
}

func TestALinkedWorktreeAndASubmoduleAreTold(t *testing.T) {
	dir := repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	plain(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repository(t), "deep/inner")
	plain(t, dir, "commit", "-q", "-m", "submodule")
	linked := filepath.Join(t.TempDir(), "linked")
	plain(t, dir, "worktree", "add", "-q", "-b", "side", linked, first)
	ofSubmodule := filepath.Join(t.TempDir(), "of submodule")
	inner := filepath.Join(dir, "deep/inner")
	plain(t, inner, "worktree", "add", "-q", "-b", "inner-side", ofSubmodule)
	for work, branch := range map[string]string{dir: "main", linked: "side", inner: "main", ofSubmodule: "inner-side"} {
		put(t, filepath.Join(work, "new"), "x")
		said := told(t, work)
		require.Contains(t, said, branch)
		require.Contains(t, said, plain(t, work, "rev-parse", "HEAD"))
		require.Contains(t, said, " new")
	}
	require.NoError(t, os.Symlink("main", filepath.Join(dir, ".git/refs/heads/alias")))
	require.NoError(t, os.Symlink("../config", filepath.Join(dir, ".git/info/within")))
	require.Contains(t, told(t, dir), "new", "links within")
}

func TestARepositoryWithANamedPipeIsRefusedAtOnce(t *testing.T) {
	g := newGit(t)
	for _, name := range []string{".gitignore", ".gitattributes", ".git/info/exclude", ".git/objects/info/alternates", ".git/index", ".git/config"} {
		dir := repository(t)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		_, err := g.Status(ctx, find(t, dir), dir, 10)
		cancel()
		require.ErrorIs(t, err, gitstate.ErrRefused, name)
	}
}

func TestAGitDirectoryThatIsANamedPipeIsRefused(t *testing.T) {
	work := t.TempDir()
	put(t, filepath.Join(work, ".git"), "gitdir: pipe")
	require.NoError(t, syscall.Mkfifo(filepath.Join(work, "pipe"), 0o600))
	refused := make(chan error, 1)
	go func() {
		_, err := gitstate.Find(work)
		refused <- err
	}()
	select {
	case err := <-refused:
		require.ErrorIs(t, err, gitstate.ErrRefused)
	case <-time.After(bound):
		t.Fatal("it waits for the other end of the pipe")
	}
}

func TestAttributesElsewhereAreNotToldByAWorktree(t *testing.T) {
	dir, outside := repository(t), filepath.Join(t.TempDir(), "outside")
	put(t, outside, "* filter=secret\n")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".git/info")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git/info"), 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, ".git/info/attributes")))
	err := newGit(t).AddWorktree(t.Context(), find(t, dir), filepath.Join(t.TempDir(), "made"), gitstate.Mark{Commit: plain(t, dir, "rev-parse", "HEAD")})
	require.ErrorIs(t, err, gitstate.ErrRefused)
	require.NotContains(t, err.Error(), "secret")
}

func TestAWorktreeInWhichGitHangsTakesOnePlace(t *testing.T) {
	hung := filepath.Join(t.TempDir(), "hung")
	require.NoError(t, os.Mkdir(hung, 0o755))
	began := filepath.Join(t.TempDir(), "began")
	g, err := gitstate.New(t.Context(), fakeGit(t, "case $GIT_WORK_TREE in */hung) echo x >> "+began+"; sleep 600 & wait;; esac\n"))
	require.NoError(t, err)
	plain(t, hung, "init", "-q")
	commit(t, hung, "a", "a")
	hostile, other := find(t, hung), find(t, repository(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for range 8 {
		go func() {
			_, err := g.Status(ctx, hostile, hung, 1)
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { _, err := os.Stat(began); return err == nil }, bound, time.Millisecond)
	wait, stop := context.WithTimeout(t.Context(), bound)
	defer stop()
	for range 3 {
		_, err = g.Status(wait, other, other.Worktree, 1)
		require.NoError(t, err)
	}
	cancel()
	for range 8 {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	_, err = g.Status(wait, other, other.Worktree, 1)
	require.NoError(t, err)
	text, err := os.ReadFile(began)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text), "the others waited")
}

func TestGitThatHangsDelaysOthersByNoMoreThanASecond(t *testing.T) {
	g := newGit(t)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	ended := make(chan error)
	const hanging = 12
	for range hanging {
		hung := repository(t)
		put(t, filepath.Join(hung, "below/a"), "a")
		require.NoError(t, syscall.Mkfifo(filepath.Join(hung, "below/.gitignore"), 0o600))
		r := find(t, hung)
		go func() {
			status := func() error {
				short, cancel := context.WithTimeout(ctx, 3*time.Second)
				defer cancel()
				_, err := g.Status(short, r, hung, 1)
				return err
			}
			err := status()
			again := status()
			for !errors.Is(again, gitstate.ErrHung) && ctx.Err() == nil { // it got no slot in 3 s
				again = status()
			}
			_, names := g.Run(ctx, r, hung, "rev-parse", "HEAD")
			ended <- errors.Join(names, is(err, context.DeadlineExceeded), is(again, gitstate.ErrHung))
		}()
	}
	for range 5 {
		require.Eventually(t, func() bool { // one that is slow itself, on a busy machine, is ended, too
			other := find(t, repository(t))
			_, err := g.Status(ctx, other, other.Worktree, 1)
			return err == nil
		}, bound, time.Millisecond)
	}
	for range hanging {
		require.NoError(t, <-ended)
	}
}

// is returns an error that is not the wanted one.
func is(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("%v is not %w", err, want)
}

func TestAGitWhoseVersionHangsDoesNotKeepTheHub(t *testing.T) {
	asleep := filepath.Join(t.TempDir(), "git")
	makeProgram(t, asleep, "#!/bin/sh\nsleep 600\n")
	began := time.Now()
	_, err := gitstate.New(t.Context(), asleep)
	require.ErrorIs(t, err, gitstate.ErrUnavailable)
	require.Less(t, time.Since(began), bound)
}

func TestTheObjectsOfAnotherRepositoryAreNotRead(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, work, other string){
		"alternates": func(t *testing.T, work, other string) {
			put(t, filepath.Join(work, ".git/objects/info/alternates"), filepath.Join(other, ".git/objects")+"\n")
		},
		"a linked pack": func(t *testing.T, work, other string) {
			plain(t, other, "repack", "-q", "-a", "-d")
			packs, err := filepath.Glob(filepath.Join(other, ".git/objects/pack/*"))
			require.NoError(t, err)
			for _, pack := range packs {
				require.NoError(t, os.Symlink(pack, filepath.Join(work, ".git/objects/pack", filepath.Base(pack))))
			}
		},
		"a linked object": func(t *testing.T, work, other string) {
			blob := plain(t, other, "rev-parse", "HEAD:secret")
			require.NoError(t, os.MkdirAll(filepath.Join(work, ".git/objects", blob[:2]), 0o755))
			require.NoError(t, os.Symlink(filepath.Join(other, ".git/objects", blob[:2], blob[2:]), filepath.Join(work, ".git/objects", blob[:2], blob[2:])))
		},
	} {
		t.Run(name, func(t *testing.T) {
			other, work := repository(t), repository(t)
			commit(t, other, "secret", "hunter2")
			blob := plain(t, other, "rev-parse", "HEAD:secret")
			spoil(t, work, other)
			_, err := newGit(t).Run(t.Context(), find(t, work), work, "cat-file", "blob", blob)
			require.ErrorIs(t, err, gitstate.ErrRefused)
		})
	}
}
