package rootfs_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/rootfs"
)

// tree makes a folder with random folders, files, pipes and links, which lead below
// and out of it, and a secret outside. It returns the folder and all names used.
func tree(t *testing.T, draw *rand.Rand) (root string, names []string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root = filepath.Join(top, "root")
	require.NoError(t, os.Mkdir(root, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "outside", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(top, "outside", "a"), []byte("secret"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(top, "root-too"), 0o700)) // begins with the folder's name
	require.NoError(t, os.WriteFile(filepath.Join(top, "root-too", "a"), []byte("secret"), 0o600))
	names = []string{"a", "b", "c", "d"}
	targets := []string{
		".", "..", "a", "b", "../a", "b/../c", "../outside", "../../outside/a", "../root/a", "../root-too/a", "/", top + "/outside", root + "/a", "loop",
	}
	dirs := []string{root}
	for range 14 {
		dir := dirs[draw.IntN(len(dirs))]
		at := filepath.Join(dir, names[draw.IntN(len(names))])
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		switch draw.IntN(6) {
		case 0, 1:
			require.NoError(t, os.Mkdir(at, 0o700))
			dirs = append(dirs, at)
		case 2:
			require.NoError(t, os.WriteFile(at, []byte("public"), 0o600))
		case 3:
			require.NoError(t, syscall.Mkfifo(at, 0o600))
		default:
			require.NoError(t, os.Symlink(targets[draw.IntN(len(targets))], at))
		}
	}
	return root, names
}

// Whatever is opened lies in the folder, and is the file that the path means. Nothing
// waits, and a path without a link and without .. is found if it is there.
func TestNothingOutsideIsOpenedAndNothingWaits(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 0))
	opened, refused := 0, 0
	for range 200 {
		root, names := tree(t, draw)
		folder, err := rootfs.Open(root)
		require.NoError(t, err)
		for range 60 {
			var parts []string
			for range 1 + draw.IntN(4) {
				parts = append(parts, append(names, "..", ".", "outside", "root")[draw.IntN(len(names)+4)])
			}
			path := strings.Join(parts, "/")
			meant, meantErr := os.Stat(root + "/" + path)
			file, err := folder.Open(path)
			if err != nil {
				refused++
				linked, lost := false, false
				for i := range parts {
					info, err := os.Lstat(root + "/" + strings.Join(parts[:i+1], "/")) // not cleaned
					linked = linked || err == nil && info.Mode()&os.ModeSymlink != 0
					lost = lost || err != nil || parts[i] == ".."
				}
				require.True(t, linked || lost, "%s is there, and was refused: %v", path, err)
				_, _, err = folder.OpenRegular(path)
				require.Error(t, err)
				continue
			}
			opened++
			at, err := rootfs.RealPath(file, root, path)
			require.NoError(t, err)
			require.True(t, rootfs.Holds(root, at), "%s led to %s", path, at)
			info, err := file.Stat()
			require.NoError(t, err)
			if clean := filepath.Clean(path); clean == path { // else .. is of the text, not of the files
				require.NoError(t, meantErr)
				require.True(t, os.SameFile(meant, info), path)
			}
			require.NoError(t, file.Close())
			regular, _, err := folder.OpenRegular(path)
			require.Equal(t, info.Mode().IsRegular(), err == nil, "%s: %v", path, err)
			if err == nil {
				text, err := io.ReadAll(regular)
				require.NoError(t, err)
				require.Equal(t, "public", string(text))
				require.NoError(t, regular.Close())
			}
			if info.IsDir() {
				below, err := folder.OpenFolder(path)
				require.NoError(t, err)
				require.NoError(t, below.Close())
			} else {
				_, err := folder.OpenFolder(path)
				require.Error(t, err)
			}
		}
		require.NoError(t, folder.Close())
	}
	require.Greater(t, opened, 1000)
	require.Greater(t, refused, 1000)
}

func TestAnotherKindOfFileIsNotTakenForTheFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, name := range []string{"pipe", "file", "missing"} {
		_, err := rootfs.Open(filepath.Join(dir, name))
		require.Error(t, err, name)
	}
	folder, err := rootfs.Open(dir)
	require.NoError(t, err)
	defer folder.Close()
	_, _, err = folder.OpenRegular("pipe")
	require.ErrorIs(t, err, rootfs.ErrNotRegular)
	_, err = folder.OpenFile("pipe", os.O_WRONLY, 0)
	require.ErrorIs(t, err, syscall.ENXIO)
	_, _, err = folder.OpenRegular(".")
	require.ErrorIs(t, err, syscall.EISDIR)
}

// A path is below a folder exactly if the folder is one of its parents.
func TestBelowIsHavingTheFolderAsAParent(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	random := func() string {
		parts := make([]string, draw.IntN(5))
		for i := range parts {
			parts[i] = []string{"a", "aa", "b", "..a", "a b"}[draw.IntN(5)]
		}
		return "/" + strings.Join(parts, "/")
	}
	for range 20_000 {
		dir, path := random(), random()
		want := false
		for at := path; ; at = filepath.Dir(at) {
			want = want || at == dir
			if at == "/" {
				break
			}
		}
		rel, ok := rootfs.Below(dir, path)
		require.Equal(t, want, ok, "%s below %s", path, dir)
		require.Equal(t, want, rootfs.Holds(dir, path))
		if ok {
			require.Equal(t, path, filepath.Join(dir, rel))
		}
	}
}

func TestAPathOfAClientStaysInTheFolder(t *testing.T) {
	for path, want := range map[string]string{"": ".", ".": ".", "a/./b": "a/b", "a/../b": "b", "..a": "..a"} {
		got, ok := rootfs.Local(path)
		require.True(t, ok, path)
		require.Equal(t, want, got)
	}
	for _, path := range []string{"..", "../a", "a/../../b", "/a", "a\x00b", fmt.Sprint("a/", "../..")} {
		_, ok := rootfs.Local(path)
		require.False(t, ok, path)
	}
}
