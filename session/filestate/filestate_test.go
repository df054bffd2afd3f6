package filestate_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/filestate"
	"github.com/stretchr/testify/require"
)

const session = "20260101-000000-aaaaaaaa"

type harness struct {
	*filestate.Keeper
	dir string
	of  filestate.Of
}

// newHarness keeps states for a session in a folder, which is a repository if it is to be.
func newHarness(t testing.TB, repository bool) harness {
	t.Helper()
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	if repository {
		run(t, folder, "init", "-q", "-b", "main")
		put(t, folder, "README", "hello\n")
		run(t, folder, "add", "-A")
		run(t, folder, "commit", "-q", "-m", "first")
	}
	dir := t.TempDir()
	return harness{filestate.New(git, dir, nil, slog.New(slog.DiscardHandler)), dir, filestate.Of{Session: session, Folder: folder}}
}

func run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return string(out)
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func (h harness) keep(t testing.TB, name string) filestate.State {
	t.Helper()
	s, err := h.Keep(t.Context(), h.of, name, nil)
	require.NoError(t, err)
	return s
}

// tree reads a folder without .git: what each path is.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, _ := filepath.Rel(dir, path)
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			require.NoError(t, err)
			all[rel] = "-> " + to
		default:
			info, err := d.Info()
			require.NoError(t, err)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			all[rel] = fmt.Sprintf("%v %x %q", info.Mode().Perm()&0o100 != 0, sha256.Sum256(text), text[:min(20, len(text))])
		}
		return nil
	}))
	return all
}

// personal is what of a repository is the person's.
func personal(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"index", "HEAD", "config", "packed-refs", "refs/heads/main", "logs/HEAD"} {
		text, _ := os.ReadFile(filepath.Join(dir, ".git", name))
		fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(text))
	}
	return b.String()
}

// editor makes random edits.
type editor struct {
	*rand.Rand
	dir string
}

var names = []string{"a.txt", "b c.txt", "dir/c.go", "dir/deep/d", "dir", "weird\"name\n", "ünï", "-x", "keep.log", "build/out.o", "z", "dir2/e", "dir2"}

func (e editor) edit(t *testing.T) {
	t.Helper()
	for range 1 + e.IntN(4) {
		name := names[e.IntN(len(names))]
		path := filepath.Join(e.dir, name)
		switch e.IntN(7) {
		case 0:
			_ = os.RemoveAll(path) // a part of it may be a file
		case 1:
			_ = os.RemoveAll(path) // a part of it may be a file
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				_ = os.Symlink([]string{"../../outside", "a.txt", "nowhere"}[e.IntN(3)], path) // a file may be in the way
			}
		default:
			if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
				_ = os.RemoveAll(path) // a part of it may be a file
			}
			for above := filepath.Dir(path); above != e.dir; above = filepath.Dir(above) {
				if info, err := os.Lstat(above); err == nil && !info.IsDir() {
					require.NoError(t, os.Remove(above))
				}
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			text := make([]byte, e.IntN(3000))
			for i := range text {
				text[i] = byte(e.IntN(256))
			}
			if e.IntN(2) == 0 {
				text = []byte(fmt.Sprintf("line\r\nnumber %d\n", e.IntN(9)))
			}
			require.NoError(t, os.WriteFile(path, text, 0o644))
			require.NoError(t, os.Chmod(path, []fs.FileMode{0o644, 0o755}[e.IntN(2)]))
		}
	}
}

func visible(all map[string]string) map[string]string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(name, _ string) bool {
		return strings.HasSuffix(name, ".log") || name == "build" || strings.HasPrefix(name, "build/")
	})
	return kept
}

func hidden(all map[string]string) map[string]string {
	seen, kept := visible(all), maps.Clone(all)
	maps.DeleteFunc(kept, func(name, _ string) bool { _, is := seen[name]; return is })
	return kept
}

func TestEachOfFiftyTurnsIsPutBackByteForByte(t *testing.T) {
	for _, repository := range []bool{true, false} {
		t.Run(fmt.Sprintf("repository %v", repository), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, repository)
			put(t, h.of.Folder, ".gitignore", "*.log\nbuild\n")
			put(t, h.of.Folder, ".gitattributes", "* text=auto eol=crlf ident filter=bad working-tree-encoding=UTF-16\n")
			put(t, h.of.Folder, "keep.log", "ignored")
			mine := personal(t, h.of.Folder)
			e := editor{rand.New(rand.NewPCG(1, 2)), h.of.Folder}
			var recorded []map[string]string
			for n := range 50 {
				recorded = append(recorded, visible(tree(t, h.of.Folder)))
				h.keep(t, filestate.Before(n))
				e.edit(t)
				if n%3 == 0 {
					h.keep(t, filestate.After(n))
					e.edit(t) // the person
				}
			}
			states, err := h.States(h.of)
			require.NoError(t, err)
			for _, n := range []int{49, 12, 0, 30, 31, 7, 49} {
				before := tree(t, h.of.Folder)
				now := h.keep(t, "undo-1")
				done, err := h.Restore(t.Context(), h.of, now, states[filestate.Before(n)])
				require.NoError(t, err)
				require.Empty(t, done.Left)
				require.Equal(t, recorded[n], visible(tree(t, h.of.Folder)), "turn %d", n)
				require.Equal(t, hidden(before), hidden(tree(t, h.of.Folder)), "ignored files stay")
				again := h.keep(t, "")
				_, err = h.Restore(t.Context(), h.of, again, now.Commit)
				require.NoError(t, err)
				require.Equal(t, before, tree(t, h.of.Folder), "redo of turn %d", n)
				_, err = h.Restore(t.Context(), h.of, h.keep(t, ""), states[filestate.Before(n)])
				require.NoError(t, err)
			}
			require.Equal(t, mine, personal(t, h.of.Folder), "index, HEAD, branches and configuration")
			if repository {
				require.NotContains(t, run(t, h.of.Folder, "fsck", "--full", "--strict"), "error")
			}
		})
	}
}

// The first state of a repository is a change of its commit, and holds the files as they are.
func TestTheFirstStateHoldsTheFilesAndNotTheCommit(t *testing.T) {
	h := newHarness(t, true)
	for _, name := range []string{"gone", "changed", "program", "folder/in", "same", "link"} {
		put(t, h.of.Folder, name, "committed "+name)
	}
	run(t, h.of.Folder, "add", "-A")
	run(t, h.of.Folder, "commit", "-q", "-m", "all")
	at := func(name string) string { return filepath.Join(h.of.Folder, name) }
	for _, name := range []string{"gone", "folder", "link"} {
		require.NoError(t, os.RemoveAll(at(name)))
	}
	put(t, h.of.Folder, "changed", "other")
	put(t, h.of.Folder, "folder", "a file now")
	put(t, h.of.Folder, "new/untracked", "new")
	require.NoError(t, os.Chmod(at("program"), 0o755))
	require.NoError(t, os.Symlink("same", at("link")))
	state := h.keep(t, "1")
	want := map[string]string{
		"README": "100644 hello\n", "changed": "100644 other", "folder": "100644 a file now", "link": "120000 same",
		"new/untracked": "100644 new", "program": "100755 committed program", "same": "100644 committed same",
	}
	got := map[string]string{}
	for line := range strings.Lines(run(t, h.of.Folder, "ls-tree", "-r", state.Commit)) {
		about, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(about)
		got[name] = fields[0] + " " + run(t, h.of.Folder, "cat-file", "blob", fields[2])
	}
	require.Equal(t, want, got)
	require.Empty(t, strings.TrimSpace(run(t, h.of.Folder, "log", "-1", "--format=%P", state.Commit)), "it has no parent")
}
