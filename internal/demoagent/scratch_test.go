package demoagent_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/demoagent"
)

func TestScratchCopiesOfKilledAgentsAreRemovedAndThoseInUseAreNot(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	stale, used, foreign := filepath.Join(temp, "abide-demo-1"), filepath.Join(temp, "abide-demo-2"), filepath.Join(temp, "other")
	for _, dir := range []string{stale, used, foreign} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
	}
	require.NoError(t, os.Symlink(foreign, filepath.Join(temp, "abide-demo-3")))
	lock, err := os.Open(used)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))

	c := serve(t, demoagent.Options{})
	c.prompt(c.begin(workspace(t)), "/edit notes.txt", "allow")
	require.NoDirExists(t, stale)
	require.FileExists(t, filepath.Join(used, "file"))
	require.FileExists(t, filepath.Join(foreign, "file"))
}
