package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// killedCopies is a hub with a repository, of which every step that git's files take can be
// the last.
type killedCopies struct {
	*hub
	git            *gitstate.Git
	project, place string
}

func newKilledCopies(t *testing.T) *killedCopies {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	k := &killedCopies{project: filepath.Join(root, "project"), place: filepath.Join(root, "copies")}
	put(t, k.project, "a", "first")
	runGit(t, k.project, "init", "-q", "-b", "main")
	runGit(t, k.project, "add", ".")
	runGit(t, k.project, "commit", "-q", "-m", "first")
	put(t, k.project, "mine", "not committed")
	k.git, err = gitstate.New(t.Context(), "")
	require.NoError(t, err)
	k.hub = newHub(t, k.options()...)
	return k
}

func (k *killedCopies) options() []hubOption {
	return []hubOption{withGit(k.git, k.project), func(o *session.Options, _ *store.Options) { o.Worktrees.Folder = k.place }}
}

func (k *killedCopies) create(t *testing.T, key string) (*session.BackgroundSession, error) {
	return k.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: k.project, Name: "one", Key: key, Worktree: &session.NewWorktree{}})
}

// killedAt runs f, and nothing of it after its step number at. It returns that step; empty
// if there are not so many.
func (k *killedCopies) killedAt(at int, f func()) (step string) {
	steps := 0
	defer func() {
		k.git.OnStep(nil)
		if p := recover(); p != nil && p != any(k) {
			panic(p)
		}
	}()
	k.git.OnStep(func(name string) {
		if steps++; steps == at {
			step = name
			panic(k)
		}
	})
	f()
	return ""
}

func (k *killedCopies) restart() {
	k.close()
	k.open(k.options()...)
}

// personsFiles fails unless all of a person is as it was.
func (k *killedCopies) personsFiles(t *testing.T, step string) {
	t.Helper()
	require.Equal(t, "?? mine", runGit(t, k.project, "status", "--porcelain"), step)
	require.NotEmpty(t, runGit(t, k.project, "rev-parse", "main"), step)
	runGit(t, k.project, "fsck")
}

// nothingLeft fails until there is no copy, no branch of one and nothing of git's about one.
func (k *killedCopies) nothingLeft(t *testing.T, step string) {
	t.Helper()
	require.Eventually(t, func() bool {
		folders, _ := filepath.Glob(filepath.Join(k.place, "*", "*"))
		return len(folders) == 0 && runGit(t, k.project, "branch", "--format=%(refname:short)") == "main"
	}, patience, 5*time.Millisecond, step)
	require.Eventually(t, func() bool {
		runGit(t, k.project, "worktree", "prune") // takes a folder without a name
		_, err := os.Stat(filepath.Join(k.project, ".git", "worktrees"))
		return os.IsNotExist(err)
	}, patience, 5*time.Millisecond, step)
}

func TestADiscardThatIsKilledBetweenTwoStepsIsCompletedByTheNextOrByTheStart(t *testing.T) {
	for at := 1; ; at++ {
		k := newKilledCopies(t)
		b, err := k.create(t, "")
		require.NoError(t, err)
		folder := b.Info().Worktree.Folder
		put(t, folder, "work", "committed")
		runGit(t, folder, "add", ".")
		runGit(t, folder, "commit", "-q", "-m", "work")
		put(t, folder, "more", "not committed")
		discard := func(confirm ...string) error { return k.manager.DiscardCopy(ctxOf(t), b.ID(), confirm, person("ann")) }
		step := k.killedAt(at, func() { require.NoError(t, discard("sessions", "uncommitted", "commits")) })
		if at%2 == 0 && rounds(1) == 1 || step == "" {
			require.NoError(t, discard(), "the second try after %q", step)
		} else {
			k.restart()
		}
		k.nothingLeft(t, step)
		require.NoError(t, discard(), "once more after %q", step)
		require.Equal(t, state.StatusEnded, k.session(b.ID()).Info().Status)
		said := 0
		for _, n := range payloads[event.Note](t, k.session(b.ID())) {
			if n.Method == "abide/worktree_removed" {
				said++
			}
		}
		require.Equal(t, 1, said, "the session says it once after %q", step)
		k.personsFiles(t, step)
		if step == "" {
			require.Greater(t, at, 10)
			return
		}
	}
}

func TestACopyWhoseMakingIsKilledBetweenTwoStepsIsMadeByTheNextOrUndoneByTheStart(t *testing.T) {
	for at := 1; ; at++ {
		k := newKilledCopies(t)
		_, err := k.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: k.project})
		require.NoError(t, err)
		step := k.killedAt(at, func() { _, _ = k.create(t, "key") })
		if step != "" && (at%2 == 0 || rounds(1) > 1) {
			k.restart()
			k.nothingLeft(t, step)
		}
		b, err := k.create(t, "key")
		require.NoError(t, err, step)
		require.Equal(t, "abide/one", b.Info().Worktree.Branch, step)
		require.Equal(t, "abide/one", runGit(t, b.Info().Worktree.Folder, "symbolic-ref", "--short", "HEAD"), step)
		all, err := k.manager.Worktrees(ctxOf(t))
		require.NoError(t, err)
		require.Len(t, all, 1, step)
		require.Len(t, all[0].Sessions, 1, step)
		k.personsFiles(t, step)
		if step == "" {
			require.Greater(t, at, 5)
			return
		}
	}
}

// A branch that a person made more of, or whose copy went without it, is named.
func TestADiscardOfACopyThatIsGoneNamesTheBranchThatIsStillThere(t *testing.T) {
	k := newKilledCopies(t)
	b, err := k.create(t, "")
	require.NoError(t, err)
	w := b.Info().Worktree
	runGit(t, k.project, "worktree", "remove", "--force", w.Folder)
	err = k.manager.DiscardCopy(ctxOf(t), b.ID(), []string{"sessions"}, person("ann"))
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "git branch -D abide/one")
	runGit(t, k.project, "branch", "-D", w.Branch)
	require.NoError(t, k.manager.DiscardCopy(ctxOf(t), b.ID(), nil, person("ann")))
}

func TestACopyThatAnotherHubIsMakingIsNotUndoneByAStart(t *testing.T) {
	k, reached, goOn := newKilledCopies(t), make(chan struct{}), make(chan struct{})
	other, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	other.OnStep(func(step string) {
		if step == "written" {
			close(reached)
			<-goOn
		}
	})
	r, err := gitstate.Find(k.project)
	require.NoError(t, err)
	place := filepath.Join(k.place, "project")
	require.NoError(t, os.MkdirAll(place, 0o700))
	made := make(chan error, 1)
	go func() {
		made <- other.AddWorktree(t.Context(), r, filepath.Join(place, "theirs"), gitstate.Mark{Request: "theirs", Branch: "theirs", Commit: runGit(t, k.project, "rev-parse", "main")})
	}()
	<-reached
	_, err = k.create(t, "dead")
	require.NoError(t, err)
	k.killedAt(4, func() { _, _ = k.create(t, "killed") })
	k.restart()
	require.Eventually(t, func() bool {
		return runGit(t, k.project, "branch", "--list", "abide/one-2") == ""
	}, patience, 5*time.Millisecond, "the one whose maker is gone goes")
	close(goOn)
	require.NoError(t, <-made)
	require.Equal(t, "theirs", runGit(t, filepath.Join(place, "theirs"), "symbolic-ref", "--short", "HEAD"))
}
