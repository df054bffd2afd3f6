package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// copied is a hub with two sessions that work in copies of a repository.
type copied struct {
	*hub
	project, place string
	one, two       *session.BackgroundSession
}

func newCopied(t *testing.T) copied {
	t.Helper()
	_, _, root := inRepository(t)
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	c := copied{project: filepath.Join(root, "project"), place: filepath.Join(root, "copies")}
	c.hub = newHub(t, withGit(git, c.project), func(o *session.Options, _ *store.Options) { o.Worktrees.Folder = c.place })
	make := func(name string) *session.BackgroundSession {
		b, err := c.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: c.project, Name: name, Worktree: &session.NewWorktree{}})
		require.NoError(t, err)
		return b
	}
	c.one, c.two = make("one"), make("two")
	return c
}

func (c copied) list(t *testing.T) map[string]session.WorkingCopy {
	t.Helper()
	all, err := c.manager.Worktrees(ctxOf(t))
	require.NoError(t, err)
	byName := map[string]session.WorkingCopy{}
	for _, w := range all {
		byName[filepath.Base(w.Folder)] = w
	}
	return byName
}

func TestWhatACopyHasOfItsOwnIsNamedBeforeItIsRemoved(t *testing.T) {
	c := newCopied(t)
	folder := c.one.Info().Worktree.Folder
	put(t, folder, "not committed", "x")
	put(t, folder, "committed", "x")
	runGit(t, folder, "add", "committed")
	runGit(t, folder, "commit", "-q", "-m", "work")
	remove := session.WorktreeRemoval{Folder: folder, Actor: person("ann")}
	needs := func(want ...string) {
		t.Helper()
		err := c.manager.RemoveWorktree(ctxOf(t), remove)
		var refused *resume.NeedsConfirmation
		require.ErrorAs(t, err, &refused)
		require.Equal(t, want, refused.Needs)
		require.ErrorContains(t, err, "not committed (1): not committed")
		require.FileExists(t, filepath.Join(folder, "not committed"))
	}
	needs("sessions", "uncommitted")
	remove.Confirm = []string{"sessions"}
	needs("uncommitted")
	remove.Discard = true
	needs("uncommitted", "commits")
	runGit(t, c.project, "worktree", "lock", folder)
	remove.Confirm = []string{"sessions", "uncommitted", "commits"}
	require.ErrorContains(t, c.manager.RemoveWorktree(ctxOf(t), remove), "git worktree unlock")
	runGit(t, c.project, "worktree", "unlock", folder)
	require.NoError(t, c.manager.RemoveWorktree(ctxOf(t), remove))
	require.NoDirExists(t, folder)
	require.NotContains(t, runGit(t, c.project, "branch", "--list"), "abide/one")
	require.Contains(t, runGit(t, c.project, "branch", "--list"), "abide/two")
	require.Equal(t, state.StatusEnded, c.one.Info().Status)
	require.ErrorIs(t, c.manager.RemoveWorktree(ctxOf(t), remove), state.ErrNotFound)
	notes := 0
	for _, e := range events(t, c.one) {
		if p, err := e.Payload(); err == nil && e.Type == event.TypeNote && p.(event.Note).Method == "abide/worktree_removed" {
			notes++
			require.Equal(t, "ann", p.(event.Note).By)
		}
	}
	require.Equal(t, 1, notes)
}

func TestACopyWithAnOpenTurnStays(t *testing.T) {
	c := newCopied(t)
	_, err := c.one.Prompt(ctxOf(t), session.PromptRequest{PromptID: "p", Text: "work", Actor: person("ann")})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		err := c.manager.RemoveWorktree(ctxOf(t), session.WorktreeRemoval{Folder: c.one.Info().Worktree.Folder, Confirm: []string{"sessions"}, Actor: person("ann")})
		require.Error(t, err)
		return errors.Is(err, state.ErrConflict)
	}, patience, time.Millisecond)
	require.DirExists(t, c.one.Info().Worktree.Folder)
}

func TestPruneRemovesWhatLosesNothing(t *testing.T) {
	c := newCopied(t)
	clean, worked := c.one.Info().Worktree, c.two.Info().Worktree
	put(t, worked.Folder, "committed", "x")
	runGit(t, worked.Folder, "add", ".")
	runGit(t, worked.Folder, "commit", "-q", "-m", "work")
	put(t, c.place, "project/stray/.git", "gitdir: /nowhere\n")
	put(t, c.place, "project/plain/file", "a person's")
	require.False(t, c.list(t)["one"].Safe(), "its session is not over")
	require.NoError(t, c.manager.Trash(ctxOf(t), c.one.ID(), person("ann")))
	require.True(t, c.list(t)["one"].Sessions[0].Trashed)
	require.False(t, c.list(t)["one"].Safe(), "it would come back without its files")
	require.NoError(t, c.manager.Purge(ctxOf(t), c.one.ID()))
	require.NoError(t, c.two.End(ctxOf(t), "", person("ann")))
	list := c.list(t)
	require.Len(t, list, 3)
	require.Empty(t, list["one"].Sessions, "an orphan")
	require.True(t, list["one"].Safe())
	require.Equal(t, []any{1, 0, true}, []any{list["two"].Commits, list["two"].Uncommitted, list["two"].Safe()})
	require.Positive(t, list["two"].Bytes)
	require.False(t, list["stray"].Safe())
	_, removed, err := c.manager.PruneWorktrees(ctxOf(t), person("ann"))
	require.NoError(t, err)
	require.Equal(t, map[string]bool{clean.Folder: true, worked.Folder: true}, removed)
	require.NoDirExists(t, clean.Folder)
	require.NoDirExists(t, worked.Folder)
	branches := runGit(t, c.project, "branch", "--list")
	require.NotContains(t, branches, "abide/one")
	require.Contains(t, branches, "abide/two", "it has a commit of its own")
	for _, kept := range []string{"project/stray/.git", "project/plain/file"} {
		_, err := os.Stat(filepath.Join(c.place, kept))
		require.NoError(t, err)
	}
}
