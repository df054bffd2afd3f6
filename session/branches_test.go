package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// named gives a repository a person who commits, and this process none.
func named(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	runGit(t, dir, "config", "user.name", "Ada")
	runGit(t, dir, "config", "user.email", "ada@example.org")
}

// actNotes are the hub's notes about acts.
func actNotes(t *testing.T, b *session.BackgroundSession) (notes []event.Note, stages []state.ActStage) {
	t.Helper()
	for _, n := range payloads[event.Note](t, b) {
		if n.Statement() == state.NoteBranch {
			var act state.BranchAct
			require.NoError(t, json.Unmarshal(n.Raw, &act))
			notes, stages = append(notes, n), append(stages, act.Stage)
		}
	}
	return notes, stages
}

func needsOf(t *testing.T, err error) []string {
	t.Helper()
	var refused *resume.NeedsConfirmation
	require.ErrorAs(t, err, &refused)
	return refused.Needs
}

func TestACommitIsAnEventWithItsActorAndIsMadeOnce(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	folder := c.one.Info().Workspace
	put(t, folder, "a", "a")
	put(t, folder, "b", "b")
	r := branch.Request{Act: branch.Commit, Files: []string{"a"}, Message: "add a\n\nwhy", Key: "k1", Actor: person("bob")}
	made, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	require.Equal(t, runGit(t, folder, "rev-parse", "HEAD"), made.After)
	require.Equal(t, "?? b", runGit(t, folder, "status", "--porcelain"))
	notes, stages := actNotes(t, c.one)
	require.Equal(t, []state.ActStage{state.ActBegun, state.ActDone}, stages)
	require.Equal(t, "bob", notes[1].By)
	require.Equal(t, event.Text("Committed 1 file on abide/one as "+made.After[:9]+": add a"), notes[1].Text)
	require.True(t, notes[0].Background())
	require.False(t, notes[1].Background())

	again, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	require.Equal(t, made, again)
	r.Message = "another"
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.ErrorIs(t, err, state.ErrConflict)
	r.Key = ""
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.ErrorContains(t, err, `"a" is as the last commit has it`)
	_, stages = actNotes(t, c.one)
	require.Len(t, stages, 2, "what did not begin is not in the log")

	for _, wrong := range []branch.Request{
		{Act: branch.Commit}, {Act: branch.Commit, Message: "m", Files: []string{"../a"}}, {Act: branch.Update, Method: "x"}, {Act: "x", Message: "m"},
	} {
		_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), wrong)
		require.ErrorIs(t, err, state.ErrInvalid)
	}
}

func TestACommitDuringATurnAndAnUnsignedOneAreConfirmed(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	put(t, c.one.Info().Workspace, "a", "a")
	prompt(t, c.one, promptID(0))
	a := c.agents.next(t)
	receive(t, a.prompts, "the agent got no prompt")
	r := branch.Request{Act: branch.Commit, Message: "m", Actor: person("bob")}
	_, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.Equal(t, []string{branch.NeedTurn}, needsOf(t, err))
	runGit(t, c.project, "config", "commit.gpgSign", "true")
	r.Confirm = []string{branch.NeedTurn}
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.Equal(t, []string{branch.NeedUnsigned}, needsOf(t, err))
	r.Confirm = append(r.Confirm, branch.NeedUnsigned)
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	draft, err := c.one.Draft(ctxOf(t))
	require.NoError(t, err)
	require.Contains(t, draft, "do "+promptID(0))
}

// A hub that is killed in the middle finds out what happened when it starts again.
func TestAnActThatAKillCutOffIsSettled(t *testing.T) {
	for name, moved := range map[string]bool{"after the branch moved": true, "before": false} {
		t.Run(name, func(t *testing.T) {
			c := newCopied(t)
			named(t, c.project)
			folder := c.one.Info().Workspace
			put(t, folder, "a", "a")
			real, err := exec.LookPath("git")
			require.NoError(t, err)
			dir := t.TempDir()
			put(t, dir, "git", "#!/bin/sh\nfor a; do [ $a = --refresh ] && { touch "+dir+"/reached; while [ ! -e "+dir+"/go ]; do sleep 0.02; done; }; done\nexec "+real+" \"$@\"\n")
			require.NoError(t, os.Chmod(filepath.Join(dir, "git"), 0o755))
			slow, err := gitstate.New(t.Context(), filepath.Join(dir, "git"))
			require.NoError(t, err)
			c.close()
			c.open(withGit(slow, c.project))
			r := branch.Request{Act: branch.Commit, Message: "m", Key: "k", Actor: person("bob")}
			before := runGit(t, folder, "rev-parse", "HEAD")
			done := make(chan error, 1)
			go func() {
				_, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
				done <- err
			}()
			require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "reached")); return err == nil }, patience, 10*time.Millisecond)
			after := runGit(t, folder, "rev-parse", "HEAD")
			require.NotEqual(t, before, after)
			if !moved {
				runGit(t, folder, "update-ref", "refs/heads/abide/one", before)
			}
			git, err := gitstate.New(t.Context(), "")
			require.NoError(t, err)
			killed := c.copyOf(t, withGit(git, c.project))
			b := killed.session(c.one.ID())
			require.Eventually(t, func() bool { notes, _ := actNotes(t, b); return len(notes) == 2 }, patience, 10*time.Millisecond)
			notes, stages := actNotes(t, b)
			if moved {
				require.Equal(t, state.ActDone, stages[1])
				require.Contains(t, notes[1].Text, "It was interrupted after that")
				act, err := killed.manager.ActOnBranch(ctxOf(t), b.ID(), r)
				require.NoError(t, err)
				require.Equal(t, after, act.After)
			} else {
				require.Equal(t, state.ActFailed, stages[1])
				require.Contains(t, notes[1].Text, "did not happen")
			}
			put(t, dir, "go", "")
			if err := <-done; moved {
				require.NoError(t, err)
			} else {
				require.True(t, err == nil || errors.Is(err, state.ErrConflict))
			}
		})
	}
}

func TestABranchIsUpdatedAndMergedAndEachIsAnEvent(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	folder := c.one.Info().Workspace
	do := func(r branch.Request) (state.BranchAct, error) {
		r.Actor = person("bob")
		return c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	}
	_, err := do(branch.Request{Act: branch.Update, Method: "merge"})
	require.ErrorContains(t, err, "abide/one has all commits of main")
	put(t, folder, "theirs", "of one")
	_, err = do(branch.Request{Act: branch.Merge, Method: "merge"})
	require.ErrorContains(t, err, "abide/one has no commits of its own: commit these files first: theirs")
	_, err = do(branch.Request{Act: branch.Commit, Message: "theirs"})
	require.NoError(t, err)
	put(t, c.project, "ours", "of main")
	runGit(t, c.project, "add", "ours")
	runGit(t, c.project, "commit", "-q", "-m", "ours")

	_, err = do(branch.Request{Act: branch.Merge, Method: "ff"})
	require.ErrorContains(t, err, "update first, or merge")
	updated, err := do(branch.Request{Act: branch.Update, Method: "rebase"})
	require.NoError(t, err)
	require.Equal(t, "main", updated.From)
	require.FileExists(t, filepath.Join(folder, "ours"))
	put(t, folder, "left", "x")
	merge := branch.Request{Act: branch.Merge, Method: "squash", Message: "all of one", Key: "m"}
	_, err = do(merge)
	require.Equal(t, []string{branch.NeedUncommitted}, needsOf(t, err))
	require.EqualError(t, err, "these files are not committed, so they stay behind: left")
	for i := range 30 {
		put(t, folder, fmt.Sprintf("more %02d", i), "x")
	}
	_, err = do(merge)
	require.ErrorContains(t, err, "more 08 and 21 more", "none is left out unsaid")
	for i := range 30 {
		require.NoError(t, os.Remove(filepath.Join(folder, fmt.Sprintf("more %02d", i))))
	}
	merge.Confirm = []string{branch.NeedUncommitted}
	put(t, c.project, "theirs", "mine")
	_, err = do(merge)
	require.ErrorContains(t, err, "commit them or put them away first: theirs")
	require.NoError(t, os.Remove(filepath.Join(c.project, "theirs")))
	merged, err := do(merge)
	require.NoError(t, err)
	require.Equal(t, "main", merged.Branch)
	require.Equal(t, "all of one", runGit(t, c.project, "log", "-1", "--format=%s", "main"))
	require.Empty(t, runGit(t, c.project, "status", "--porcelain", "--untracked-files=no"))
	again, err := do(merge)
	require.NoError(t, err)
	require.Equal(t, merged, again)
	notes, _ := actNotes(t, c.one)
	require.Len(t, notes, 6)
	require.Contains(t, notes[3].Text, "Updated abide/one from main: 1 file changed")
	require.Contains(t, notes[5].Text, "Merged abide/one into main: 1 file changed")

	put(t, c.project, "theirs", "changed by main")
	runGit(t, c.project, "commit", "-q", "-a", "-m", "conflicts")
	put(t, folder, "theirs", "changed by one")
	_, err = do(branch.Request{Act: branch.Commit, Message: "conflicts, too", Files: []string{"theirs"}})
	require.NoError(t, err)
	_, err = do(branch.Request{Act: branch.Update, Method: "merge"})
	require.ErrorContains(t, err, "these files conflict: theirs")
}

// Several agents on one repository commit, update and merge at once. The base has each
// change once.
func TestTheBaseHasEachChangeOfSeveralAgentsOnce(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	sessions := []*session.BackgroundSession{c.one, c.two}
	for _, name := range []string{"three", "four"} {
		b, err := c.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: c.project, Name: name, Worktree: &session.NewWorktree{}})
		require.NoError(t, err)
		sessions = append(sessions, b)
	}
	const rounds = 5
	var all sync.WaitGroup
	for n, b := range sessions {
		all.Go(func() {
			folder := b.Info().Workspace
			do := func(r branch.Request) error {
				r.Actor = person("bob")
				_, err := c.manager.ActOnBranch(ctxOf(t), b.ID(), r)
				return err
			}
			for round := range rounds {
				name := fmt.Sprintf("%d-%d", n, round)
				if !assert.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600)) ||
					!assert.NoError(t, do(branch.Request{Act: branch.Commit, Message: "add " + name})) {
					return
				}
				for tries := 0; ; tries++ { // another may merge between the two
					err := do(branch.Request{Act: branch.Update, Method: "rebase"})
					if err == nil || strings.Contains(err.Error(), "has all commits") {
						if err = do(branch.Request{Act: branch.Merge, Method: "ff"}); err == nil {
							break
						}
					}
					if !assert.ErrorIs(t, err, state.ErrConflict) || !assert.Less(t, tries, 60) {
						return
					}
				}
			}
		})
	}
	all.Wait()
	subjects := strings.Split(runGit(t, c.project, "log", "--format=%s", "main"), "\n")
	for n := range sessions {
		for round := range rounds {
			name := fmt.Sprintf("%d-%d", n, round)
			count := 0
			for _, s := range subjects {
				if s == "add "+name {
					count++
				}
			}
			require.Equal(t, 1, count, name)
			require.FileExists(t, filepath.Join(c.project, name))
		}
	}
	require.Empty(t, runGit(t, c.project, "status", "--porcelain"))
	runGit(t, c.project, "fsck")
}

// pushable gives the project a remote on this disk.
func (c copied) pushable(t *testing.T, allowed bool) (bare string) {
	t.Helper()
	named(t, c.project)
	bare = filepath.Join(t.TempDir(), "proj.git")
	runGit(t, c.project, "init", "-q", "--bare", bare)
	runGit(t, c.project, "remote", "add", "origin", bare)
	c.allowPush(t, allowed)
	return bare
}

func (c copied) allowPush(t *testing.T, allowed bool) {
	t.Helper()
	now := *c.manager.Settings()
	now.Git = map[string]settings.Git{c.project: {Push: allowed}}
	require.NoError(t, c.manager.Configure(now))
}

func TestAPushIsAnEventWithItsActorAndTheOwnersSettingAllowsIt(t *testing.T) {
	c := newCopied(t)
	bare := c.pushable(t, false)
	folder := c.one.Info().Workspace
	r := branch.Request{Act: branch.Push, Key: "k", Actor: person("bob")}
	_, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "by hand: git -C "+folder+" push -u origin abide/one")
	c.allowPush(t, true)
	put(t, folder, "left", "x")
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.Equal(t, []string{branch.NeedUncommitted}, needsOf(t, err))
	require.EqualError(t, err, "these files are not committed, so they are not pushed: left")
	notes, _ := actNotes(t, c.one)
	require.Empty(t, notes)

	r.Confirm = []string{branch.NeedUncommitted}
	made, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	head := runGit(t, folder, "rev-parse", "HEAD")
	require.Equal(t, []string{head, "origin"}, []string{made.After, made.Remote})
	require.Equal(t, head, runGit(t, bare, "rev-parse", "refs/heads/abide/one"))
	notes, stages := actNotes(t, c.one)
	require.Equal(t, []state.ActStage{state.ActBegun, state.ActDone}, stages)
	require.Equal(t, "bob", notes[1].By)
	require.Equal(t, event.Text("Pushed abide/one to origin, now at "+head[:9]+"."), notes[1].Text)

	runGit(t, bare, "update-ref", "-d", "refs/heads/abide/one")
	again, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	require.Equal(t, made, again)
	require.Empty(t, runGit(t, bare, "for-each-ref", "refs/heads/abide/one"), "it is pushed once")

	runGit(t, folder, "commit", "-q", "--allow-empty", "-m", "more")
	put(t, bare, "hooks/pre-receive", "#!/bin/sh\necho not on Fridays >&2\nexit 1\n")
	require.NoError(t, os.Chmod(filepath.Join(bare, "hooks/pre-receive"), 0o755))
	r.Key = "k2"
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.ErrorContains(t, err, "not on Fridays")
	notes, stages = actNotes(t, c.one)
	require.Equal(t, state.ActFailed, stages[3])
	require.Equal(t, "bob", notes[3].By)
	require.Contains(t, notes[3].Text, "not on Fridays")
	require.NoError(t, os.Remove(filepath.Join(bare, "hooks/pre-receive")))
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err, "the same request tries again")
}

// A hub that ends while it pushes ends the push, and says so when it starts again.
func TestAPushEndsWithTheHub(t *testing.T) {
	c := newCopied(t)
	c.pushable(t, true)
	reached := filepath.Join(t.TempDir(), "reached")
	hook := filepath.Join(c.project, ".git", "hooks", "pre-push")
	put(t, filepath.Dir(hook), "pre-push", "#!/bin/sh\ntouch "+reached+"\nsleep 1000\n")
	require.NoError(t, os.Chmod(hook, 0o755))
	done := make(chan error, 1)
	go func() {
		_, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), branch.Request{Act: branch.Push, Key: "k", Actor: person("bob")})
		done <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(reached); return err == nil }, patience, 10*time.Millisecond)
	id := c.one.ID()
	c.close()
	require.ErrorIs(t, <-done, state.ErrUnavailable)
	c.open()
	b := c.session(id)
	require.Eventually(t, func() bool { _, stages := actNotes(t, b); return len(stages) == 2 }, patience, 10*time.Millisecond)
	notes, stages := actNotes(t, b)
	require.Equal(t, state.ActFailed, stages[1])
	require.Contains(t, notes[1].Text, "interrupted")
}

func TestThePageOfAPullRequestIsFilledInAndTheRemoteHasTheBranch(t *testing.T) {
	c := newCopied(t)
	c.pushable(t, true)
	page := func(message string, confirm ...string) (string, error) {
		found, made, err := c.manager.PullRequest(ctxOf(t), c.one.ID(), branch.Request{Message: message, Confirm: confirm})
		require.False(t, made)
		return found, err
	}
	_, err := page("m")
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "projects.FOLDER.git.forge")
	runGit(t, c.project, "config", "remote.origin.pushurl", runGit(t, c.project, "config", "remote.origin.url"))
	runGit(t, c.project, "config", "remote.origin.url", "https://ann:hunter2@git.example.org:3000/ann/pot.git")
	now := *c.manager.Settings()
	now.Git = map[string]settings.Git{c.project: {Push: true, Forge: "gitea"}}
	require.NoError(t, c.manager.Configure(now))
	_, err = page("m")
	require.Equal(t, []string{branch.NeedUnpushed}, needsOf(t, err))
	found, err := page("Trim it\n\nwhy", branch.NeedUnpushed)
	require.NoError(t, err)
	require.Equal(t, "https://git.example.org:3000/ann/pot/compare/main...abide/one?body=why&expand=1&title=Trim+it", found)
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), branch.Request{Act: branch.Push, Actor: person("bob")})
	require.NoError(t, err)
	_, err = page("m")
	require.NoError(t, err)
	notes, _ := actNotes(t, c.one)
	require.Len(t, notes, 2, "a page changes nothing")
}

func TestADiscardNamesWhatIsLostAndRemovesCopyAndBranch(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	folder := c.one.Info().Worktree.Folder
	put(t, folder, "committed", "x")
	runGit(t, folder, "add", "committed")
	runGit(t, folder, "commit", "-q", "-m", "work")
	put(t, folder, "not committed", "x")
	err := c.manager.DiscardCopy(ctxOf(t), c.one.ID(), nil, person("bob"))
	needs := needsOf(t, err)
	require.Equal(t, []string{"sessions", "uncommitted", "commits"}, needs)
	require.ErrorContains(t, err, "not committed")
	require.FileExists(t, filepath.Join(folder, "not committed"))
	require.NoError(t, c.manager.DiscardCopy(ctxOf(t), c.one.ID(), needs, person("bob")))
	require.NoDirExists(t, folder)
	require.Empty(t, runGit(t, c.project, "branch", "--list", "abide/one"))
	require.Equal(t, state.StatusEnded, c.one.Info().Status)

	without, err := c.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: c.project})
	require.NoError(t, err)
	require.ErrorContains(t, c.manager.DiscardCopy(ctxOf(t), without.ID(), needs, person("bob")), "no working copy of its own")
}

func TestASquashWithoutAMessageSaysWhatWasAskedFor(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	prompt(t, c.one, promptID(0))
	receive(t, c.agents.next(t).prompts, "the agent got no prompt")
	folder := c.one.Info().Workspace
	put(t, folder, "made", "x")
	runGit(t, folder, "add", "made")
	runGit(t, folder, "commit", "-q", "-m", "one step")
	r := branch.Request{Act: branch.Merge, Method: "squash", Key: "k", Confirm: []string{branch.NeedTurn}, Actor: person("bob")}
	made, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	require.Equal(t, "do "+promptID(0), runGit(t, c.project, "log", "-1", "--format=%s", "main"))
	again, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	require.Equal(t, made, again)
}
