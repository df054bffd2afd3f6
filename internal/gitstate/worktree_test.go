package gitstate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

func TestAWorktreeHasTheFilesOfItsCommit(t *testing.T) {
	dir := repository(t)
	first := plain(t, dir, "rev-parse", "HEAD")
	commit(t, dir, "README.md", "# Later\n")
	put(t, filepath.Join(dir, "README.md"), "# Not committed\n")
	linked := filepath.Join(t.TempDir(), "linked")
	plain(t, dir, "worktree", "add", "-q", "-b", "side", linked)
	g := newGit(t)
	for name, from := range map[string]string{"from the main worktree": dir, "from a linked one": linked} {
		t.Run(name, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "made")
			require.NoError(t, g.AddWorktree(t.Context(), find(t, from), made, first))
			text, err := os.ReadFile(filepath.Join(made, "README.md"))
			require.NoError(t, err)
			require.Equal(t, "# A workspace\n", string(text))
			head, err := find(t, made).Head()
			require.NoError(t, err)
			require.Equal(t, gitstate.Head{Commit: first}, head)
			require.Empty(t, plain(t, made, "status", "--porcelain"))
			require.ErrorIs(t, g.AddWorktree(t.Context(), find(t, from), made, first), os.ErrExist)

			require.NoError(t, g.RemoveWorktree(t.Context(), find(t, from), made))
			require.NoDirExists(t, made)
			require.NotContains(t, plain(t, dir, "worktree", "list"), made)
		})
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	require.Equal(t, "# Not committed\n", string(text))
}

func TestAWorktreeThatNeedsMoreThanGitIsRefused(t *testing.T) {
	g := newGit(t)
	for name, make := range map[string]func(t *testing.T, dir string){
		"a filter": func(t *testing.T, dir string) {
			commit(t, dir, "a.psd", "x")
			commit(t, dir, ".gitattributes", "# filter=none\n*.bin -filter\n*.psd filter=lfs diff=lfs -text\n")
		},
		"a filter below": func(t *testing.T, dir string) {
			commit(t, dir, "below/.gitattributes", "* filter=crypt\n")
		},
		"a filter of this copy alone": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, ".git/info/attributes"), "* filter=crypt\n")
		},
		"an encoding": func(t *testing.T, dir string) {
			commit(t, dir, ".gitattributes", "*.txt working-tree-encoding=UTF-16\n")
			commit(t, dir, "a.txt", "\xff\xfea\x00")
		},
		"a submodule": func(t *testing.T, dir string) {
			plain(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repository(t), "inner")
			plain(t, dir, "commit", "-q", "-m", "submodule")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			make(t, dir)
			made := filepath.Join(t.TempDir(), "made")
			err := g.AddWorktree(t.Context(), find(t, dir), made, plain(t, dir, "rev-parse", "HEAD"))
			require.ErrorIs(t, err, gitstate.ErrUnsuited)
			require.NoDirExists(t, made)
		})
	}
	dir := repository(t)
	require.Error(t, g.AddWorktree(t.Context(), find(t, dir), filepath.Join(t.TempDir(), "made"), "--upload-pack=x"))
}

func TestFilesAreWrittenBelowTheirFolderAlone(t *testing.T) {
	g, dir := newGit(t), repository(t)
	commit(t, dir, "deep/er/a", "text")
	require.NoError(t, os.Symlink("../../outside", filepath.Join(dir, "deep/out")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "deep/er/a"), 0o755))
	plain(t, dir, "add", ".")
	plain(t, dir, "commit", "-q", "-m", "link")
	r := find(t, dir)
	good, err := g.Tree(t.Context(), r, plain(t, dir, "rev-parse", "HEAD"))
	require.NoError(t, err)
	to := t.TempDir()
	root, err := os.OpenRoot(to)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, g.WriteFiles(t.Context(), r, root, good))
	info, err := os.Stat(filepath.Join(to, "deep/er/a"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100)
	at, err := os.Readlink(filepath.Join(to, "deep/out"))
	require.NoError(t, err)
	require.Equal(t, "../../outside", at)
	require.ErrorIs(t, g.WriteFiles(t.Context(), r, root, good), os.ErrExist, "a file that is there stays")

	blob := good[0].Object
	for _, path := range []string{"../a", "/a", "a//b", "./a", ".git/config", "x/.GIT/config", ".git./a", ".git /a", "git~1/a", ".g\u200cit/a", ".git::$INDEX_ALLOCATION/a", ""} {
		err := g.WriteFiles(t.Context(), r, root, []gitstate.Entry{{Mode: "100644", Object: blob, Path: path}})
		require.ErrorIs(t, err, gitstate.ErrUnsuited, path)
	}
	through := []gitstate.Entry{{Mode: "120000", Object: blob, Path: "way"}, {Mode: "100644", Object: blob, Path: "way/a"}}
	require.ErrorIs(t, g.WriteFiles(t.Context(), r, root, through), os.ErrExist, "a link in the place of a folder")
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(to, "led")))
	require.Error(t, g.WriteFiles(t.Context(), r, root, []gitstate.Entry{{Mode: "100644", Object: blob, Path: "led/a"}}), "a link that was there")
}
