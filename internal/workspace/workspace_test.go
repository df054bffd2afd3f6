package workspace_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server/wire"
)

func put(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts[:len(parts)-1]...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(parts[len(parts)-1]), 0o600))
	return path
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
}

func newFiles(t testing.TB, own ...string) *workspace.Files {
	t.Helper()
	g, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	return workspace.New(g, own)
}

func namesOf(l workspace.Listing) (names []string) {
	for _, e := range l.Entries {
		names = append(names, e.Name)
	}
	return names
}

func TestNothingOutsideOfTheWorkspaceIsListedOrRead(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "work")
	secret := put(t, top, "secret", "do not tell")
	put(t, root, "in", "a.txt", "a")
	put(t, root, ".git", "config", "password")
	own := put(t, root, "hub", "devices.json", "keys")
	require.NoError(t, os.Symlink(secret, filepath.Join(root, "absolute")))
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "relative")))
	require.NoError(t, os.Symlink("..", filepath.Join(root, "up")))
	require.NoError(t, os.Symlink("in/a.txt", filepath.Join(root, "within")))
	require.NoError(t, os.Symlink(".git", filepath.Join(root, "alias")))
	require.NoError(t, os.Link(own, filepath.Join(root, "linked")))
	require.NoError(t, os.Link(filepath.Join(root, ".git/config"), filepath.Join(root, "of git")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	f := newFiles(t, filepath.Join(root, "hub"))

	for _, path := range []string{
		secret, "../secret", "in/../../secret", "absolute", "relative", "up/secret", "up", ".git/config", ".git", "alias/config",
		"hub/devices.json", "hub", "linked", "of git", "in", "pipe", "gone", "a\x00b", "in/a.txt/b", strings.Repeat("x", 5000),
	} {
		_, _, err := f.Open(root, path)
		require.ErrorIs(t, err, workspace.ErrNotFound, "%q", path)
	}
	for _, path := range []string{"..", "up", ".git", "alias", "hub", "/", "in/a.txt", "pipe"} {
		_, err := f.List(root, path)
		require.ErrorIs(t, err, workspace.ErrNotFound, "%q", path)
	}
	opened, _, err := f.Open(root, "within")
	require.NoError(t, err, "a link within the workspace")
	require.NoError(t, opened.Close())
	list, err := f.List(root, "")
	require.NoError(t, err)
	require.Equal(t, []string{"in", "absolute", "alias", "linked", "of git", "pipe", "relative", "up", "within"}, namesOf(list))
	paths, err := f.Complete(t.Context(), root, "", 50)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(paths, " "), "hub")
	require.NotContains(t, strings.Join(paths, " "), ".git/")
}

func TestALinkInTheFoldersPlaceLeadsNowhere(t *testing.T) {
	top := t.TempDir()
	root, other := filepath.Join(top, "work"), filepath.Join(top, "other")
	put(t, other, "private", "do not tell")
	require.NoError(t, os.Symlink(other, root))
	files := newFiles(t)
	_, err := files.List(root, "")
	require.ErrorIs(t, err, workspace.ErrNotFound)
	_, _, err = files.Open(root, "private")
	require.ErrorIs(t, err, workspace.ErrNotFound)
	list, err := files.List(other, "")
	require.NoError(t, err)
	require.Equal(t, []string{"private"}, namesOf(list))
}

func TestNoChangeIsToldOfAPrivateFileNorThroughALinkInTheFoldersPlace(t *testing.T) {
	root := filepath.Join(t.TempDir(), "work")
	own := put(t, root, "hub", "devices.json", "keys")
	put(t, root, "a.txt", "a")
	git(t, root, "init", "-q")
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "first")
	require.NoError(t, os.Remove(own))
	f := newFiles(t, filepath.Join(root, "hub"))
	_, err := f.Change(t.Context(), root, "hub/devices.json")
	require.ErrorIs(t, err, workspace.ErrNotFound, "the commit has it")
	_, err = f.Change(t.Context(), root, "a.txt")
	require.NoError(t, err)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	change, err := f.Change(late, root, "a.txt")
	require.NoError(t, err)
	require.Equal(t, wire.FileChange{Unknown: "git took too long"}, change)

	require.NoError(t, os.Rename(root, root+"-aside"))
	require.NoError(t, os.Symlink(root+"-aside", root))
	require.NoError(t, os.Remove(filepath.Join(root, "a.txt")))
	_, err = f.Change(t.Context(), root, "a.txt")
	require.ErrorIs(t, err, workspace.ErrNotFound, "the commit has it")
}

func TestANamedPipeInTheFoldersPlaceIsNotWaitedFor(t *testing.T) {
	root := filepath.Join(t.TempDir(), "work")
	require.NoError(t, syscall.Mkfifo(root, 0o600))
	files, told := newFiles(t), make(chan error, 3)
	go func() {
		_, err := files.List(root, "")
		told <- err
		_, err = files.Complete(t.Context(), root, "a", 1)
		told <- err
		_, err = files.Change(t.Context(), root, "a")
		told <- err
	}()
	for range 3 {
		select {
		case err := <-told:
			require.ErrorIs(t, err, workspace.ErrNotFound)
		case <-time.After(time.Minute):
			t.Fatal("it waits for the other end of the pipe")
		}
	}
}

func TestStrangeNamesAreShownAndOpened(t *testing.T) {
	root, f := t.TempDir(), newFiles(t)
	names := []string{"-rf", "a b", "new\nline", "q?#%25&=", "\u202egnp.exe", "c:\\d", "ünïcödé", "'\"`$(x)"}
	for _, name := range names {
		put(t, root, name, name)
	}
	put(t, root, "not\xffutf8", "x")
	list, err := f.List(root, "")
	require.NoError(t, err)
	require.Len(t, list.Entries, len(names)+1)
	for _, name := range names {
		require.Contains(t, namesOf(list), name)
		opened, _, err := f.Open(root, name)
		require.NoError(t, err, "%q", name)
		require.NoError(t, opened.Close())
	}
	for _, e := range list.Entries {
		require.Equal(t, strings.ContainsRune(e.Name, '\uFFFD'), e.Unreadable)
	}
}

// hundredThousandFiles returns a repository of so many, in git's index only: the
// test is not about the disk.
func hundredThousandFiles(t testing.TB) string {
	root := t.TempDir()
	git(t, root, "init", "-q")
	var index strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&index, "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\tsrc/part%03d/Component%05d.svelte\n", i%500, i)
	}
	add := exec.Command("git", "update-index", "--index-info")
	add.Dir, add.Stdin = root, strings.NewReader(index.String())
	require.NoError(t, add.Run())
	return root
}

func BenchmarkCompletionOfAHundredThousandFiles(b *testing.B) {
	root, f := hundredThousandFiles(b), newFiles(b)
	for b.Loop() {
		_, err := f.Complete(b.Context(), root, "comp4242", 50)
		require.NoError(b, err)
	}
}

func TestCompletionOfAHundredThousandFiles(t *testing.T) {
	root, f := hundredThousandFiles(t), newFiles(t)
	put(t, root, ".gitignore", "ignored\n")
	put(t, root, "ignored", "build.log", "x")
	put(t, root, "main.go", "x")

	paths, err := f.Complete(t.Context(), root, "main", 50)
	require.NoError(t, err)
	require.Equal(t, []string{"main.go"}, paths)
	paths, err = f.Complete(t.Context(), root, "comp4242", 50)
	require.NoError(t, err)
	require.Equal(t, "src/part420/Component42420.svelte", paths[0], "the least gap")
	require.LessOrEqual(t, len(paths), 50)
	paths, err = f.Complete(t.Context(), root, "build.log", 50)
	require.NoError(t, err)
	require.Empty(t, paths, "named by .gitignore")
}

func TestCompletionLooksIntoAFolderToADepth(t *testing.T) {
	root, f := t.TempDir(), newFiles(t)
	put(t, root, strings.Repeat("d/", 64), "deep.go", "x")
	put(t, root, strings.Repeat("d/", 65), "deeper.go", "x")
	put(t, root, "node_modules", "deep.go", "x")
	paths, err := f.Complete(t.Context(), root, "deep", 50)
	require.NoError(t, err)
	require.Equal(t, []string{strings.Repeat("d/", 64) + "deep.go"}, paths)
}

func TestCompletionReadsNamesToABound(t *testing.T) {
	root, f := t.TempDir(), newFiles(t)
	at, err := os.OpenRoot(root)
	require.NoError(t, err)
	defer at.Close()
	long := strings.Repeat("n", 255)
	for range 60 { // a path of 15,000 bytes, which only a relative name opens
		require.NoError(t, at.Mkdir(long, 0o755))
		below, err := at.OpenRoot(long)
		require.NoError(t, err)
		require.NoError(t, at.Close())
		at = below
	}
	for i := range 2000 {
		file, err := at.Create(fmt.Sprintf("f%04d", i))
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	paths, err := f.Complete(t.Context(), root, "f", 5000)
	require.NoError(t, err)
	total := 0
	for _, path := range paths {
		total += len(path)
	}
	require.NotEmpty(t, paths)
	require.LessOrEqual(t, total, 16<<20)
}

func TestAFolderOfManyFilesIsCut(t *testing.T) {
	root, f := t.TempDir(), newFiles(t)
	for i := range 2100 {
		put(t, root, fmt.Sprintf("f%04d", i), "")
	}
	require.NoError(t, os.Mkdir(filepath.Join(root, "z"), 0o755))
	list, err := f.List(root, "")
	require.NoError(t, err)
	require.Len(t, list.Entries, 2000)
	require.Equal(t, 101, list.LeftOut)
	require.Equal(t, "z", list.Entries[0].Name, "folders first")
}

func TestChangesOfARepositoryWithThousandsOfThem(t *testing.T) {
	root, f := t.TempDir(), newFiles(t)
	git(t, root, "init", "-q", "-b", "feature")
	put(t, root, "sub", "kept", "x")
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "first")
	git(t, root, "remote", "add", "origin", "git@github.com:ann/pot.git")
	var index strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&index, "100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\tsub/f%05d\n", i)
	}
	add := exec.Command("git", "update-index", "--index-info")
	add.Dir, add.Stdin = root, strings.NewReader(index.String())
	require.NoError(t, add.Run())

	c, err := f.Changes(t.Context(), root)
	require.NoError(t, err)
	require.Len(t, c.Files, 1000)
	require.Equal(t, 4000, c.LeftOut)
	require.Equal(t, wire.ChangedFile{Path: "sub/f00000", Code: "AD"}, c.Files[0])
	require.Equal(t, "feature", c.Branch)
	require.Equal(t, "https://github.com/ann/pot/compare/feature?expand=1", c.NewPullRequest)
	c, err = f.Changes(t.Context(), filepath.Join(root, "sub"))
	require.NoError(t, err)
	require.Equal(t, "f00000", c.Files[0].Path, "relative to the folder")
	c, err = f.Changes(t.Context(), t.TempDir())
	require.NoError(t, err)
	require.False(t, c.Repository)
}

func TestARepositoryThatLeadsElsewhereSaysThatItCannotBeRead(t *testing.T) {
	f, other := newFiles(t), t.TempDir()
	git(t, other, "init", "-q", "-b", "private")
	put(t, other, "secret", "x")
	git(t, other, "add", ".")
	git(t, other, "commit", "-q", "-m", "first")
	for name, spoil := range map[string]func(root string){
		"a .git file": func(root string) {
			require.NoError(t, os.RemoveAll(filepath.Join(root, ".git")))
			put(t, root, ".git", "gitdir: "+other+"/.git")
		},
		"a link": func(root string) {
			require.NoError(t, os.Remove(filepath.Join(root, ".git", "index")))
			require.NoError(t, os.Symlink(filepath.Join(other, ".git", "index"), filepath.Join(root, ".git", "index")))
		},
	} {
		root := t.TempDir()
		git(t, root, "init", "-q", "-b", "own")
		put(t, root, "a", "x")
		git(t, root, "add", ".")
		git(t, root, "commit", "-q", "-m", "first")
		spoil(root)
		c, err := f.Changes(t.Context(), root)
		require.NoError(t, err)
		require.True(t, c.Repository, name)
		require.Empty(t, c.Files, name)
		require.NotEqual(t, "private", c.Branch, name)
		require.Equal(t, "the repository cannot be read", c.Unknown, name)
		change, err := f.Change(t.Context(), root, "a")
		require.NoError(t, err)
		require.Equal(t, wire.FileChange{Unknown: "the repository cannot be read"}, change, name)
	}
}

func TestFoldersAreThoseSessionsMayRunIn(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "src")
	put(t, root, "one", "main.go", "x")
	put(t, root, ".hidden", "x", "x")
	require.NoError(t, os.Mkdir(filepath.Join(top, "other"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(top, "other"), filepath.Join(root, "out")))
	git(t, filepath.Join(root, "one"), "init", "-q", "-b", "trunk")
	f, roots := newFiles(t), []string{root}

	place, err := f.Folders(roots, root)
	require.NoError(t, err)
	require.Empty(t, place.Parent)
	require.Equal(t, []wire.Folder{{Name: "one", Path: filepath.Join(root, "one"), Branch: "trunk", Repository: true}}, place.Folders)
	place, err = f.Folders(roots, filepath.Join(root, "one"))
	require.NoError(t, err)
	require.Equal(t, root, place.Parent)
	made, err := f.MakeFolder(roots, filepath.Join(root, "two"))
	require.NoError(t, err)
	require.DirExists(t, made.Path)
	_, err = f.MakeFolder(roots, filepath.Join(root, "two"))
	require.ErrorIs(t, err, workspace.ErrExists)
	for _, path := range []string{top, filepath.Join(top, "other"), filepath.Join(root, "out"), filepath.Join(root, ".."), "src", ""} {
		_, err := f.Folders(roots, path)
		require.ErrorIs(t, err, workspace.ErrNotFound, "%q", path)
		_, err = f.MakeFolder(roots, filepath.Join(path, "x"))
		require.ErrorIs(t, err, workspace.ErrNotFound, "%q", path)
	}
}

func TestACompletionFindsANameInEitherUnicodeForm(t *testing.T) {
	root, f := t.TempDir(), newFiles(t)
	put(t, root, "re\u0301sume\u0301.md", "as macOS writes it")
	put(t, root, "caf\u00e9.md", "as others do")
	for typed, path := range map[string]string{"r\u00e9s": "re\u0301sume\u0301.md", "cafe\u0301": "caf\u00e9.md"} {
		paths, err := f.Complete(t.Context(), root, typed, 50)
		require.NoError(t, err)
		require.Equal(t, []string{path}, paths, "its name as the file system has it")
	}
}
