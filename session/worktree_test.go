package session_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// runGit runs git like a person does.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// inRepository returns a hub that may use a repository's folder, and a session in a
// subfolder. The subfolder's greet.go said hello when the session was created.
func inRepository(t *testing.T) (h *hub, b *session.BackgroundSession, root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	repository := filepath.Join(root, "project")
	put(t, repository, "cmd/greet.go", "hello")
	runGit(t, repository, "init", "-q", "-b", "main")
	runGit(t, repository, "add", ".")
	runGit(t, repository, "commit", "-q", "-m", "first")
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	h = newHub(t, withGit(git, root))
	b, err = h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: filepath.Join(repository, "cmd")})
	require.NoError(t, err)
	put(t, repository, "cmd/greet.go", "good evening")
	runGit(t, repository, "commit", "-q", "-a", "-m", "second")
	return h, b, root
}

func withGit(git *gitstate.Git, root string) hubOption {
	return func(o *session.Options, _ *store.Options) { o.Git, o.Workspaces = git, []string{root} }
}

// A kill of the hub after the worktree was made and before its session leaves the folder.
func TestAForkThatAKillInterruptedIsCompletedInItsFolder(t *testing.T) {
	h, b, root := inRepository(t)
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	killed := h.copyOf(t, withGit(git, root)) // without the session, with the folder
	request := session.ForkRequest{Seq: 1, Worktree: &session.NewWorktree{Folder: filepath.Join(root, "again")}, Actor: person("ann"), Key: "k1"}
	_, err = h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	put(t, root, "again/mine", "a person's")
	made, err := killed.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	require.Equal(t, []event.Forked{{SessionID: made.ID(), Seq: 1}}, killed.session(b.ID()).Info().Forks)
	require.FileExists(t, filepath.Join(root, "again/mine"))
	request.Key = "another"
	_, err = killed.manager.Fork(ctxOf(t), b.ID(), request)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, `again" is there already: name another folder`)
}

func TestAForkWorksInAWorktreeAtTheCommitOfItsEvent(t *testing.T) {
	h, b, root := inRepository(t)
	request := session.ForkRequest{Seq: 1, Worktree: &session.NewWorktree{Folder: filepath.Join(root, "again")}, Actor: person("ann"), Key: "k1"}
	made, err := h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "again", "cmd"), made.Info().Workspace)
	text, err := os.ReadFile(filepath.Join(root, "again", "cmd", "greet.go"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))

	require.Equal(t, "abide/work", runGit(t, filepath.Join(root, "again"), "symbolic-ref", "--short", "HEAD"))
	again, err := h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	require.Equal(t, made.ID(), again.ID(), "the same request makes one worktree")
	request.Key = "k2"
	_, err = h.manager.Fork(ctxOf(t), b.ID(), request)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "is there already")
}

func TestAWorktreeThatCannotBeMadeLeavesNothing(t *testing.T) {
	h, b, root := inRepository(t)
	put(t, root, "project/.gitattributes", "*.psd filter=lfs\n")
	put(t, root, "project/a.psd", "x")
	runGit(t, filepath.Join(root, "project"), "add", ".")
	runGit(t, filepath.Join(root, "project"), "commit", "-q", "-m", "large files")
	filtered, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: filepath.Join(root, "project")})
	require.NoError(t, err)
	elsewhere, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: root})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		of      *session.BackgroundSession
		request session.ForkRequest
		is      error
		says    string
	}{
		"it needs a filter":      {filtered, session.ForkRequest{Worktree: &session.NewWorktree{Folder: filepath.Join(root, "w")}}, state.ErrConflict, `filter "lfs"`},
		"in no repository":       {elsewhere, session.ForkRequest{Worktree: &session.NewWorktree{Folder: filepath.Join(root, "w")}}, state.ErrInvalid, "no git repository"},
		"outside of the folders": {b, session.ForkRequest{Worktree: &session.NewWorktree{Folder: filepath.Join(filepath.Dir(root), "w")}}, state.ErrForbidden, "outside the allowed folders"},
		"inside of a .git":       {b, session.ForkRequest{Worktree: &session.NewWorktree{Folder: filepath.Join(root, "project", ".git", "w")}}, state.ErrInvalid, "the files of git itself"},
		"no whole path":          {b, session.ForkRequest{Worktree: &session.NewWorktree{Folder: "w"}}, state.ErrInvalid, "absolute"},
		"two folders":            {b, session.ForkRequest{Worktree: &session.NewWorktree{Folder: filepath.Join(root, "w")}, Workspace: root}, state.ErrInvalid, "not both"},
		"an unknown agent":       {b, session.ForkRequest{Worktree: &session.NewWorktree{Folder: filepath.Join(root, "w")}, Agent: "other"}, state.ErrInvalid, "no agent"},
	} {
		c.request.Seq = 1
		_, err := h.manager.Fork(ctxOf(t), c.of.ID(), c.request)
		require.ErrorIs(t, err, c.is, name)
		require.ErrorContains(t, err, c.says, name)
		require.NoDirExists(t, filepath.Join(root, "w"), name)
		require.NoDirExists(t, filepath.Join(root, "project", ".git", "w"), name)
		require.Empty(t, c.of.Info().Forks, name)
	}
}

// A repository of every shape gets a working copy, or a sentence that says why not. No
// program that it names runs.
func TestAWorkingCopyOfEveryShapeOfRepository(t *testing.T) {
	for name, c := range map[string]struct {
		shape func(t *testing.T, dir string) (workspace string)
		says  string // empty: a copy is made
	}{
		"plain":          {shape: func(t *testing.T, dir string) string { return dir }},
		"a folder below": {shape: func(t *testing.T, dir string) string { return filepath.Join(dir, "cmd") }},
		"empty": {shape: func(t *testing.T, dir string) string {
			runGit(t, filepath.Dir(dir), "init", "-q", "none")
			return filepath.Join(filepath.Dir(dir), "none")
		}, says: "no commit yet"},
		"detached": {shape: func(t *testing.T, dir string) string { runGit(t, dir, "checkout", "-q", "--detach"); return dir }},
		"shallow": {shape: func(t *testing.T, dir string) string {
			put(t, dir, "b", "b")
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "b")
			runGit(t, filepath.Dir(dir), "clone", "-q", "--depth=1", "file://"+dir, "cut")
			return filepath.Join(filepath.Dir(dir), "cut")
		}},
		"bare": {shape: func(t *testing.T, dir string) string {
			runGit(t, filepath.Dir(dir), "clone", "-q", "--bare", dir, "bare")
			return filepath.Join(filepath.Dir(dir), "bare")
		}, says: "is a bare repository"},
		"a worktree": {shape: func(t *testing.T, dir string) string {
			linked := filepath.Join(filepath.Dir(dir), "linked")
			runGit(t, dir, "worktree", "add", "-q", "-b", "side", linked)
			return linked
		}},
		"a submodule": {shape: func(t *testing.T, dir string) string {
			runGit(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", dir, "inner")
			runGit(t, dir, "commit", "-q", "-m", "inner")
			return dir
		}, says: `"inner" is a submodule`},
		"git-lfs": {shape: func(t *testing.T, dir string) string {
			put(t, dir, ".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n")
			put(t, dir, "a.psd", "x")
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "psd")
			return dir
		}, says: `filter "lfs"`},
		"an encoding": {shape: func(t *testing.T, dir string) string {
			put(t, dir, ".gitattributes", "*.txt working-tree-encoding=UTF-16\n")
			put(t, dir, "a.txt", "\xff\xfea\x00")
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "txt")
			return dir
		}, says: `encoding "UTF-16"`},
		"reftable": {shape: func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, ".git/reftable"), 0o700)) // an old git cannot make one
			return dir
		}, says: "reftable"},
		"sha256": {shape: func(t *testing.T, dir string) string {
			other := filepath.Join(filepath.Dir(dir), "long")
			runGit(t, filepath.Dir(dir), "init", "-q", "--object-format=sha256", "long")
			put(t, other, "a", "a")
			runGit(t, other, "add", ".")
			runGit(t, other, "commit", "-q", "-m", "a")
			return other
		}},
		"line ends": {shape: func(t *testing.T, dir string) string {
			put(t, dir, ".gitattributes", "*.bat eol=crlf\n")
			put(t, dir, "a.bat", "a\r\n")
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "bat")
			return dir
		}},
		"odd names and links out": {shape: func(t *testing.T, dir string) string {
			put(t, dir, "a\nb\t\"c\" ü/ x", "x")
			require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "out")))
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "odd")
			return dir
		}},
		"in the middle of a rebase": {shape: func(t *testing.T, dir string) string {
			runGit(t, dir, "switch", "-q", "-c", "side")
			put(t, dir, "cmd/greet.go", "side")
			runGit(t, dir, "commit", "-q", "-a", "-m", "side")
			runGit(t, dir, "switch", "-q", "main")
			put(t, dir, "cmd/greet.go", "main")
			runGit(t, dir, "commit", "-q", "-a", "-m", "main")
			cmd := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@b", "rebase", "-q", "side")
			cmd.Dir = dir
			require.Error(t, cmd.Run())
			return dir
		}},
		"in no repository": {shape: func(t *testing.T, dir string) string { return filepath.Dir(dir) }, says: "in no git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			dir := filepath.Join(root, "project")
			put(t, dir, "cmd/greet.go", "hello")
			runGit(t, dir, "init", "-q", "-b", "main")
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "first")
			workspace, mark := c.shape(t, dir), filepath.Join(root, "mark")
			if top, err := gitstate.Find(workspace); err == nil {
				trap := filepath.Join(root, "trap")
				put(t, root, "trap", "#!/bin/sh\necho ran >> "+mark+"\n")
				require.NoError(t, os.Chmod(trap, 0o700))
				common := runGit(t, top.Worktree, "rev-parse", "--path-format=absolute", "--git-common-dir")
				for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
					put(t, common, "hooks/"+hook, "#!/bin/sh\necho ran >> "+mark+"\n")
					require.NoError(t, os.Chmod(filepath.Join(common, "hooks", hook), 0o700))
				}
				for key, value := range map[string]string{
					"core.hooksPath": filepath.Join(common, "hooks"), "core.fsmonitor": trap, "alias.status": "!" + trap, "alias.ls-tree": "!" + trap,
					"core.pager": trap, "core.editor": trap, "filter.lfs.smudge": trap, "filter.lfs.process": trap, "diff.external": trap,
				} {
					runGit(t, common, "config", "--file", "config", key, value)
				}
				require.NoError(t, os.RemoveAll(mark))
			}
			git, err := gitstate.New(t.Context(), "")
			require.NoError(t, err)
			place := filepath.Join(root, "copies")
			h := newHub(t, withGit(git, root), func(o *session.Options, _ *store.Options) { o.Worktrees.Folder = place })
			before := ""
			if c.says == "" {
				before = runGit(t, workspace, "-c", "core.fsmonitor=", "-c", "core.hooksPath=", "rev-parse", "HEAD")
				require.NoError(t, os.RemoveAll(mark))
			}
			b, err := h.manager.Create(ctxOf(t), session.CreateRequest{
				Actor: person("ann"), Workspace: workspace, Name: "Fix the greeting!", Worktree: &session.NewWorktree{},
			})
			require.NoFileExists(t, mark)
			if c.says != "" {
				require.Error(t, err)
				require.ErrorContains(t, err, c.says)
				all, _ := filepath.Glob(filepath.Join(place, "*", "*"))
				require.Empty(t, all)
				return
			}
			require.NoError(t, err)
			w := b.Info().Worktree
			require.Equal(t, "abide/fix-the-greeting", w.Branch)
			require.Equal(t, before, w.Commit)
			require.Equal(t, workspace, w.Of)
			require.True(t, strings.HasPrefix(b.Info().Workspace, place))
			require.Equal(t, settings.ProjectRoot(workspace), b.Info().ProjectRoot)
			for _, key := range []string{"core.hooksPath", "core.fsmonitor", "core.pager", "alias.status"} {
				runGit(t, filepath.Join(runGit(t, w.Folder, "-c", "core.fsmonitor=", "rev-parse", "--path-format=absolute", "--git-common-dir")), "config", "--file", "config", "--unset", key)
			}
			require.Equal(t, "abide/fix-the-greeting", runGit(t, w.Folder, "symbolic-ref", "--short", "HEAD"))
			require.Empty(t, runGit(t, w.Folder, "status", "--porcelain"))
			second, err := h.manager.Create(ctxOf(t), session.CreateRequest{
				Actor: person("ann"), Workspace: workspace, Name: "Fix the greeting!", Worktree: &session.NewWorktree{},
			})
			require.NoError(t, err)
			require.Equal(t, "abide/fix-the-greeting-2", second.Info().Worktree.Branch)
		})
	}
}

func TestAWorkingCopyGetsTheIgnoredFilesOfItsProject(t *testing.T) {
	_, _, root := inRepository(t)
	project := filepath.Join(root, "project")
	put(t, project, "cmd/.env", "TOKEN=1")
	put(t, project, "cmd/deps/a/b", "deep")
	put(t, project, "cmd/other", "not copied")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(project, "cmd/deps/link")))
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	h := newHub(t, withGit(git, project), func(o *session.Options, _ *store.Options) {
		o.Worktrees = settings.Worktrees{Copies: map[string][]string{filepath.Join(project, "cmd"): {".env", "deps", "missing", "greet.go"}}}
	})
	put(t, project, "cmd/greet.go", "not committed")
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{
		Actor: person("ann"), Workspace: filepath.Join(project, "cmd"), Worktree: &session.NewWorktree{Branch: "mine", Base: "main~1"},
	})
	require.NoError(t, err)
	made := b.Info()
	require.Equal(t, filepath.Join(root, "project-mine"), made.Worktree.Folder, "beside the repository, which is no allowed folder")
	require.Equal(t, filepath.Join(root, "project-mine", "cmd"), made.Workspace)
	require.Equal(t, [2]string{"mine", ""}, [2]string{made.Worktree.Branch, made.Worktree.Base})
	for name, want := range map[string]string{".env": "TOKEN=1", "deps/a/b": "deep", "greet.go": "hello"} {
		text, err := os.ReadFile(filepath.Join(made.Workspace, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text), name)
	}
	at, err := os.Readlink(filepath.Join(made.Workspace, "deps/link"))
	require.NoError(t, err)
	require.Equal(t, "/etc/passwd", at)
	require.NoFileExists(t, filepath.Join(made.Workspace, "other"))

	fork, err := h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: 1, Actor: person("ann")})
	require.NoError(t, err, "a fork may work in the same copy")
	require.Equal(t, made.Worktree, fork.Info().Worktree)
	again, err := h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: 1, Actor: person("ann"), Worktree: &session.NewWorktree{}})
	require.NoError(t, err, "and in one of its own")
	require.NotEqual(t, made.Workspace, again.Info().Workspace)
	_, err = h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: made.Workspace})
	require.ErrorIs(t, err, state.ErrForbidden, "another session may not")

	for says, w := range map[string]session.NewWorktree{
		"no branch, tag or commit": {Base: "nope"}, "accepts no branch": {Branch: "a..b"}, `branch called "main"`: {Branch: "main"},
		"outside the allowed": {Folder: filepath.Join(root, "w")},
	} {
		_, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: project, Worktree: &w})
		require.ErrorContains(t, err, says)
	}
	inside := newHub(t, withGit(git, project), func(o *session.Options, _ *store.Options) { o.Worktrees.Folder = filepath.Join(project, "copies") })
	_, err = inside.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: project, Worktree: &session.NewWorktree{}})
	require.ErrorContains(t, err, "which is in the git repository")
}

func TestSessionsThatBeginAtOnceGetACopyEach(t *testing.T) {
	h, b, root := inRepository(t)
	_ = b
	var all sync.WaitGroup
	made := make(chan string, 8)
	for range 8 {
		all.Go(func() {
			b, err := h.manager.Create(ctxOf(t), session.CreateRequest{
				Actor: person("ann"), Workspace: filepath.Join(root, "project"), Prompt: "Do it", Worktree: &session.NewWorktree{},
			})
			if assert.NoError(t, err) {
				made <- b.Info().Worktree.Branch
			}
		})
	}
	all.Wait()
	close(made)
	branches := map[string]bool{}
	for branch := range made {
		branches[branch] = true
	}
	require.Len(t, branches, 8)
}
