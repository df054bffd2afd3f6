package gitstate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/stretchr/testify/require"
)

// bound is longer than any of these tests' git commands take.
const bound = time.Minute

// repository makes a repository with one commit of README.md on branch main.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	plain(t, dir, "init", "-q", "-b", "main")
	commit(t, dir, "README.md", "# A workspace\n")
	return dir
}

func commit(t *testing.T, dir, name, text string) string {
	t.Helper()
	put(t, filepath.Join(dir, name), text)
	plain(t, dir, "add", name)
	plain(t, dir, "commit", "-q", "-m", name)
	return plain(t, dir, "rev-parse", "HEAD")
}

// plain runs git as a person does, without a person's configuration.
func plain(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func add(t *testing.T, path, text string) {
	t.Helper()
	before, _ := os.ReadFile(path)
	put(t, path, string(before)+text)
}

// trap is a program that leaves a mark when it runs.
type trap struct{ program, mark string }

func newTrap(t *testing.T) trap {
	t.Helper()
	dir := t.TempDir()
	tr := trap{filepath.Join(dir, "trap"), filepath.Join(dir, "mark")}
	makeProgram(t, tr.program, fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\nenv >> %s\n", tr.mark, tr.mark))
	return tr
}

// sprung is the output of the trap; empty if it did not run.
func (tr trap) sprung(t *testing.T) string {
	t.Helper()
	said, err := os.ReadFile(tr.mark)
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	return string(said)
}

func newGit(t *testing.T) *gitstate.Git {
	t.Helper()
	g, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	return g
}

func find(t *testing.T, dir string) *gitstate.Repository {
	t.Helper()
	r, err := gitstate.Find(dir)
	require.NoError(t, err)
	return r
}

// makeProgram writes a program. No other test may start a process meanwhile: that
// would inherit the open file for a moment, and running the program would fail with
// "text file busy".
func makeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}
