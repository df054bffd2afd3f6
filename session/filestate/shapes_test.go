package filestate_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/filestate"
	"github.com/stretchr/testify/require"
)

// Each shape of a repository is kept and put back as it is, or refused with words. No
// program that it names runs.
func TestShapesOfRepositories(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	trap := fmt.Sprintf("sh -c 'echo ran >>%s'", mark)
	shapes := map[string]struct {
		make    func(t *testing.T, h *harness)
		refused string
	}{
		"no commit yet": {make: func(t *testing.T, h *harness) {
			require.NoError(t, os.RemoveAll(filepath.Join(h.of.Folder, ".git")))
			run(t, h.of.Folder, "init", "-q")
		}},
		"detached": {make: func(t *testing.T, h *harness) { run(t, h.of.Folder, "checkout", "-q", "--detach") }},
		"a linked worktree": {make: func(t *testing.T, h *harness) {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, h.of.Folder, "worktree", "add", "-q", linked)
			h.of.Folder = linked
		}},
		"a folder below": {make: func(t *testing.T, h *harness) {
			put(t, h.of.Folder, "below/x", "x")
			h.of.Folder = filepath.Join(h.of.Folder, "below")
		}},
		"a shallow clone": {make: func(t *testing.T, h *harness) {
			clone := filepath.Join(t.TempDir(), "clone")
			run(t, h.of.Folder, "clone", "-q", "--depth=1", "file://"+h.of.Folder, clone)
			h.of.Folder = clone
		}},
		"sha256": {make: func(t *testing.T, h *harness) {
			require.NoError(t, os.RemoveAll(filepath.Join(h.of.Folder, ".git")))
			run(t, h.of.Folder, "init", "-q", "--object-format=sha256")
			run(t, h.of.Folder, "add", "-A")
			run(t, h.of.Folder, "commit", "-q", "-m", "first")
		}},
		"programs of the configuration": {make: func(t *testing.T, h *harness) {
			for _, key := range []string{"core.fsmonitor", "filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "diff.external", "core.sshCommand", "alias.ls-files", "alias.fast-import"} {
				value := trap
				if strings.HasPrefix(key, "alias") {
					value = "!" + trap
				}
				run(t, h.of.Folder, "config", key, value)
			}
			put(t, h.of.Folder, ".git/hooks/reference-transaction", "#!/bin/sh\n"+trap+"\n")
			require.NoError(t, os.Chmod(filepath.Join(h.of.Folder, ".git/hooks/reference-transaction"), 0o755))
			put(t, h.of.Folder, ".gitattributes", "* filter=bad\n")
		}},
		"line ends": {make: func(t *testing.T, h *harness) {
			run(t, h.of.Folder, "config", "core.autocrlf", "true")
			put(t, h.of.Folder, ".gitattributes", "*.txt text eol=crlf\n")
			put(t, h.of.Folder, "mixed.txt", "a\r\nb\nc\r\n")
		}},
		"a conflict": {make: func(t *testing.T, h *harness) {
			run(t, h.of.Folder, "checkout", "-q", "-b", "side")
			put(t, h.of.Folder, "README", "side\n")
			run(t, h.of.Folder, "commit", "-q", "-am", "side")
			run(t, h.of.Folder, "checkout", "-q", "main")
			put(t, h.of.Folder, "README", "main\n")
			run(t, h.of.Folder, "commit", "-q", "-am", "main")
			cmd := exec.Command("git", "merge", "side")
			cmd.Dir = h.of.Folder
			require.Error(t, cmd.Run())
		}},
		"a repository inside": {make: func(t *testing.T, h *harness) {
			put(t, h.of.Folder, "inside/x", "x")
			run(t, filepath.Join(h.of.Folder, "inside"), "init", "-q")
		}},
		"links that lead out": {make: func(t *testing.T, h *harness) {
			require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(h.of.Folder, "out")))
			require.NoError(t, os.Symlink("..", filepath.Join(h.of.Folder, "up")))
		}},
		"a tracked file that is ignored": {make: func(t *testing.T, h *harness) {
			put(t, h.of.Folder, ".gitignore", "README\n")
			run(t, h.of.Folder, "add", "-f", "README", ".gitignore")
		}},
		"a bare one": {refused: "without files to work in", make: func(t *testing.T, h *harness) {
			bare := filepath.Join(t.TempDir(), "bare.git")
			run(t, h.of.Folder, "init", "-q", "--bare", bare)
			h.of.Folder = bare
		}},
		"objects of another": {refused: "cannot be read", make: func(t *testing.T, h *harness) {
			clone := filepath.Join(t.TempDir(), "clone")
			run(t, h.of.Folder, "clone", "-q", "--shared", h.of.Folder, clone)
			h.of.Folder = clone
		}},
		"too many files": {refused: "more than 10000 files", make: func(t *testing.T, h *harness) {
			for i := range 10_001 {
				put(t, h.of.Folder, fmt.Sprintf("many/%d/%d", i%100, i), "")
			}
		}},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, true)
			shape.make(t, &h)
			if shape.refused != "" {
				_, err := h.Keep(t.Context(), h.of, "1", nil)
				require.ErrorContains(t, err, shape.refused)
				return
			}
			put(t, h.of.Folder, "untracked", "u")
			before := tree(t, h.of.Folder)
			h.keep(t, "1")
			put(t, h.of.Folder, "README", "changed\r\n")
			put(t, h.of.Folder, "new/file", "n")
			require.NoError(t, os.Remove(filepath.Join(h.of.Folder, "untracked")))
			after, now := tree(t, h.of.Folder), h.keep(t, "undo-1")
			states, err := h.States(h.of)
			require.NoError(t, err)
			done, err := h.Restore(t.Context(), h.of, now, states["1"])
			require.NoError(t, err)
			require.Empty(t, done.Left)
			require.Equal(t, before, tree(t, h.of.Folder))
			_, err = h.Restore(t.Context(), h.of, h.keep(t, ""), now.Commit)
			require.NoError(t, err)
			require.Equal(t, after, tree(t, h.of.Folder))
			require.NoFileExists(t, mark, "a program of the repository ran")
		})
	}
}

// The copies are as a kill between two steps leaves the folder, its repository and the
// keeper's own directory. The same again completes what was begun.
func TestAKillBetweenAnyTwoStepsLosesNothing(t *testing.T) {
	h := newHarness(t, true)
	for _, name := range []string{"a", "b", "dir/c"} {
		put(t, h.of.Folder, name, "before "+name)
	}
	want := tree(t, h.of.Folder)
	h.keep(t, "1")
	put(t, h.of.Folder, "a", "after")
	put(t, h.of.Folder, "d", "after")
	require.NoError(t, os.RemoveAll(filepath.Join(h.of.Folder, "dir")))
	type kill struct{ step, folder, dir string }
	var kills []kill
	h.OnStep(func(step string) {
		at := t.TempDir()
		for from, to := range map[string]string{h.of.Folder: "folder", h.dir: "dir"} {
			out, err := exec.Command("cp", "-a", from, filepath.Join(at, to)).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		kills = append(kills, kill{step, filepath.Join(at, "folder"), filepath.Join(at, "dir")})
	})
	now := h.keep(t, "undo-1")
	states, err := h.States(h.of)
	require.NoError(t, err)
	_, err = h.Restore(t.Context(), h.of, now, states["1"])
	require.NoError(t, err)
	require.Equal(t, want, tree(t, h.of.Folder))
	require.Greater(t, len(kills), 7)
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	for _, k := range kills {
		again := filestate.New(git, k.dir, nil, slog.New(slog.DiscardHandler))
		of := filestate.Of{Session: session, Folder: k.folder}
		now, err := again.Keep(t.Context(), of, "undo-1", nil)
		require.NoError(t, err, k.step)
		states, err := again.States(of)
		require.NoError(t, err, k.step)
		done, err := again.Restore(t.Context(), of, now, states["1"])
		require.NoError(t, err, k.step)
		require.Empty(t, done.Left, k.step)
		require.Equal(t, want, tree(t, k.folder), k.step)
		require.NoError(t, again.Forget(t.Context(), session))
		require.NotContains(t, run(t, k.folder, "for-each-ref"), "refs/abide", k.step)
	}
}
