package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
)

func TestAFileThatManyReplaceAtOnceIsWholeAndThatOfOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var all sync.WaitGroup
	errs := make(chan error, 400)
	for n := range 4 {
		all.Go(func() {
			for range 100 {
				errs <- disk.ReplaceAmong(disk.OS(), path, fmt.Appendf(nil, "written by %d\n", n))
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, `^written by \d\n$`, string(data))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1, "a temporary file is left")
	info, err := names[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
