package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

// dirty is a repository with that many files that it does not know.
func dirty(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "--allow-empty", "-m", "first"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%05d", i)), nil, 0o600))
	}
	return dir
}

// inspected looks at a folder as an offer does, and requires that it does not take long.
func inspected(t *testing.T, git *gitstate.Git, dir string) (known string, names, more int) {
	t.Helper()
	const bound = 2 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	began := time.Now()
	state := workspaces{git}.inspect(ctx, dir, true)
	require.Less(t, time.Since(began), bound+5*time.Second) // a machine under load kills late
	require.True(t, state.Repository)
	require.Equal(t, "main", state.Branch)
	return state.Unknown, len(state.Changed), state.More
}

func TestTenThousandChangedFilesAreCountedAndFiftyNamed(t *testing.T) {
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	unknown, names, more := inspected(t, git, dirty(t, 10_000))
	if unknown != "" {
		require.Equal(t, "it took too long", unknown) // on a slow device that is the answer
		return
	}
	require.Equal(t, 50, names)
	require.Equal(t, 9_950, more)
}

func TestAGitThatHangsIsToldInBoundedTime(t *testing.T) {
	program := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\n[ \"$1\" = version ] && exec git version\nsleep 600\n"
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	git, err := gitstate.New(t.Context(), program)
	require.NoError(t, err)
	unknown, names, _ := inspected(t, git, dirty(t, 1))
	require.Equal(t, "it took too long", unknown)
	require.Zero(t, names)
}
