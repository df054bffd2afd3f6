package session_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
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
func TestAForkThatAKillInterruptedSaysWhatToDoWithItsFolder(t *testing.T) {
	h, b, root := inRepository(t)
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	killed := h.copyOf(t, withGit(git, root)) // without the session, with the folder
	request := session.ForkRequest{Seq: 1, Worktree: filepath.Join(root, "again"), Actor: person("ann"), Key: "k1"}
	_, err = h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	_, err = killed.manager.Fork(ctxOf(t), b.ID(), request)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, `again" is there already: name another folder, or delete this one if a fork was interrupted`)
	require.NoError(t, os.RemoveAll(request.Worktree))
	made, err := killed.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	require.Equal(t, []event.Forked{{SessionID: made.ID(), Seq: 1}}, killed.session(b.ID()).Info().Forks)
}

func TestAForkWorksInAWorktreeAtTheCommitOfItsEvent(t *testing.T) {
	h, b, root := inRepository(t)
	request := session.ForkRequest{Seq: 1, Worktree: filepath.Join(root, "again"), Actor: person("ann"), Key: "k1"}
	made, err := h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "again", "cmd"), made.Info().Workspace)
	text, err := os.ReadFile(filepath.Join(root, "again", "cmd", "greet.go"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))

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
		"it needs a filter":      {filtered, session.ForkRequest{Worktree: filepath.Join(root, "w")}, state.ErrConflict, `filter "lfs"`},
		"in no repository":       {elsewhere, session.ForkRequest{Worktree: filepath.Join(root, "w")}, state.ErrInvalid, "no git repository"},
		"outside of the folders": {b, session.ForkRequest{Worktree: filepath.Join(filepath.Dir(root), "w")}, state.ErrForbidden, "outside the allowed folders"},
		"no whole path":          {b, session.ForkRequest{Worktree: "w"}, state.ErrInvalid, "absolute"},
		"two folders":            {b, session.ForkRequest{Worktree: filepath.Join(root, "w"), Workspace: root}, state.ErrInvalid, "not both"},
		"an unknown agent":       {b, session.ForkRequest{Worktree: filepath.Join(root, "w"), Agent: "other"}, state.ErrInvalid, "no agent"},
	} {
		c.request.Seq = 1
		_, err := h.manager.Fork(ctxOf(t), c.of.ID(), c.request)
		require.ErrorIs(t, err, c.is, name)
		require.ErrorContains(t, err, c.says, name)
		require.NoDirExists(t, filepath.Join(root, "w"), name)
		require.Empty(t, c.of.Info().Forks, name)
	}
}
