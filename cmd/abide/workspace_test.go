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

// dirty returns a repository with as many untracked files.
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

func TestChangedFilesAreCountedAndFiftyNamed(t *testing.T) {
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	state := workspaces{git}.inspect(t.Context(), dirty(t, 200), true)
	require.Empty(t, state.Unknown)
	require.Equal(t, "main", state.Branch)
	require.Len(t, state.Changed, 50)
	require.Equal(t, 150, state.More)
}

func TestWithoutGitTheBranchIsToldAndWhyTheChangesAreNot(t *testing.T) {
	state := workspaces{}.inspect(t.Context(), dirty(t, 1), true)
	require.True(t, state.Repository)
	require.Equal(t, "main", state.Branch)
	require.Equal(t, "git is not installed", state.Unknown)
	require.Empty(t, state.Changed)
}

func TestAGitThatHangsIsToldInBoundedTime(t *testing.T) {
	program := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\n[ \"$1\" = version ] && exec git version\nsleep 600\n"
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	git, err := gitstate.New(t.Context(), program)
	require.NoError(t, err)
	const bound = 2 * time.Second
	dir := dirty(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	began := time.Now()
	state := workspaces{git}.inspect(ctx, dir, true)
	require.Less(t, time.Since(began), patience/2) // on a busy machine the kill may be late
	require.Equal(t, "main", state.Branch)
	require.Equal(t, "it took too long", state.Unknown)
	require.Empty(t, state.Changed)
}
