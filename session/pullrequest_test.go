package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// makesPulls lets the project's pull requests be made by a program in PATH with this script,
// which may record in $REC. Its first arguments are written to $REC/args, one a line of %q.
func (c copied) makesPulls(t *testing.T, program, script string) (rec string) {
	t.Helper()
	c.pushable(t, true)
	now := *c.manager.Settings()
	now.Git = map[string]settings.Git{c.project: {Push: true, PullRequests: program}}
	require.NoError(t, c.manager.Configure(now))
	bin := t.TempDir()
	rec = filepath.Join(bin, "rec")
	require.NoError(t, os.Mkdir(rec, 0o755))
	put(t, bin, program, "#!/bin/sh\nprintf '%s\\0' \"$@\" > "+rec+"/args\necho run >> "+rec+"/runs\nenv > "+rec+"/env\npwd > "+rec+"/dir\n"+script)
	require.NoError(t, os.Chmod(filepath.Join(bin, program), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return rec
}

func wrote(t *testing.T, rec, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rec, name))
	require.NoError(t, err)
	return string(text)
}

// A title is never an option, and never a shell's word.
const oddTitle = `--web "quoted" $(touch pwned) 'x'; y`

func TestAPullRequestIsMadeByTheHostsProgram(t *testing.T) {
	for program, want := range map[string][]string{
		"gh":   {"pr", "create", "--head=abide/one", "--title=" + oddTitle, "--body=-\nwhy\n\n`id`", "--base=main"},
		"glab": {"mr", "create", "--yes", "--source-branch=abide/one", "--title=" + oddTitle, "--description=-\nwhy\n\n`id`", "--target-branch=main"},
	} {
		t.Run(program, func(t *testing.T) {
			c := newCopied(t)
			rec := c.makesPulls(t, program, "echo Creating >&2\necho '!7 a title of https://evil.example.org/x (abide/one)'\necho ' https://git.example.org/ann/pot/pull/7'\n")
			folder := c.one.Info().Workspace
			r := branch.Request{Message: oddTitle + "\n\n-\nwhy\n\n`id`", Key: "k", Actor: person("bob")}
			_, _, err := c.manager.PullRequest(ctxOf(t), c.one.ID(), r)
			require.Equal(t, []string{branch.NeedUnpushed}, needsOf(t, err))
			notes, _ := actNotes(t, c.one)
			require.Empty(t, notes, "nothing has begun")
			_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), branch.Request{Act: branch.Push, Actor: person("bob")})
			require.NoError(t, err)
			for range 2 { // the same again makes no second one
				address, made, err := c.manager.PullRequest(ctxOf(t), c.one.ID(), r)
				require.NoError(t, err)
				require.True(t, made)
				require.Equal(t, "https://git.example.org/ann/pot/pull/7", address)
			}
			require.Equal(t, "run\n", wrote(t, rec, "runs"))
			require.Equal(t, want, strings.Split(strings.TrimSuffix(wrote(t, rec, "args"), "\x00"), "\x00"))
			require.Equal(t, folder+"\n", wrote(t, rec, "dir"))
			require.Contains(t, wrote(t, rec, "env"), "GH_PROMPT_DISABLED=1")
			require.Contains(t, wrote(t, rec, "env"), "NO_PROMPT=1")
			require.NoFileExists(t, filepath.Join(folder, "pwned"))
			notes, stages := actNotes(t, c.one)
			require.Equal(t, []state.ActStage{state.ActBegun, state.ActDone}, stages[2:])
			require.Equal(t, "bob", notes[3].By)
			require.Equal(t, event.Text("Made a pull request of abide/one: https://git.example.org/ann/pot/pull/7"), notes[3].Text)
			r.Message = "another"
			_, _, err = c.manager.PullRequest(ctxOf(t), c.one.ID(), r)
			require.ErrorContains(t, err, "the key")
		})
	}
}

// What goes wrong is said with the program's words, and the same request tries again.
func TestAPullRequestThatIsNotMadeSaysWhy(t *testing.T) {
	c := newCopied(t)
	t.Setenv("GH_TOKEN", "ghp_verysecret")
	rec := c.makesPulls(t, "gh", `case $(cat `+"$0.mode"+`) in
fails) echo "pull request create failed: a pull request already exists: https://ann:hunter2@h.example/1 $GH_TOKEN" >&2; exit 1;;
silent) echo nothing; echo "javascript:alert(1) https:///x ftp://h/x https://u:p@h/x" ;;
esac
`)
	mode := func(m string) { put(t, filepath.Dir(rec), "gh.mode", m) }
	ask := func(message string) error {
		_, _, err := c.manager.PullRequest(ctxOf(t), c.one.ID(), branch.Request{Message: message, Key: "k", Confirm: []string{branch.NeedUnpushed}, Actor: person("bob")})
		return err
	}
	mode("fails")
	err := ask("t")
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "gh made no pull request: pull request create failed: a pull request already exists: https://h.example/1 …")
	notes, stages := actNotes(t, c.one)
	require.Equal(t, []state.ActStage{state.ActBegun, state.ActFailed}, stages)
	require.Contains(t, notes[1].Text, "Pull request failed: gh made no pull request")
	mode("silent")
	err = ask("t")
	require.ErrorContains(t, err, "without the address of a pull request: nothing; javascript")
	require.ErrorContains(t, err, "is not known")
	require.ErrorIs(t, ask("a\x00b"), state.ErrInvalid)

	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(rec), "gh")))
	err = ask("t")
	require.ErrorContains(t, err, "gh is not in the hub's PATH: install it there and sign in with gh auth login")
	c.allowPush(t, true) // without pull_requests it is the page again
	require.ErrorContains(t, ask("t"), "projects.FOLDER.git.forge")
	now := *c.manager.Settings()
	now.Git = map[string]settings.Git{c.project: {PullRequests: "gh"}}
	require.NoError(t, c.manager.Configure(now))
	require.ErrorContains(t, ask("t"), "projects.FOLDER.git.pull_requests and push")
}

// Without a message it is that of a commit's draft, and a session that said nothing has none.
func TestAPullRequestTakesTheDraft(t *testing.T) {
	c := newCopied(t)
	rec := c.makesPulls(t, "gh", "echo https://h.example/1\n")
	ask := func() error {
		_, _, err := c.manager.PullRequest(ctxOf(t), c.one.ID(), branch.Request{Key: "k", Confirm: []string{branch.NeedUnpushed, branch.NeedTurn}, Actor: person("bob")})
		return err
	}
	err := ask()
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "needs a title")
	prompt(t, c.one, promptID(0))
	receive(t, c.agents.next(t).prompts, "the agent got no prompt")
	require.NoError(t, ask())
	require.Contains(t, wrote(t, rec, "args"), "--title=do "+promptID(0))
}

// A hub that ends or is killed while the program runs does not know whether the pull request
// was made, and says so.
func TestAPullRequestThatWasCutOffIsNotKnown(t *testing.T) {
	c := newCopied(t)
	rec := c.makesPulls(t, "gh", "touch $0.reached\nsleep 1000\n")
	done := make(chan error, 1)
	r := branch.Request{Message: "t", Key: "k", Confirm: []string{branch.NeedUnpushed}, Actor: person("bob")}
	go func() {
		_, _, err := c.manager.PullRequest(ctxOf(t), c.one.ID(), r)
		done <- err
	}()
	reached := filepath.Join(filepath.Dir(rec), "gh.reached")
	require.Eventually(t, func() bool { _, err := os.Stat(reached); return err == nil }, patience, 10*time.Millisecond)
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	killed := c.copyOf(t, withGit(git, c.project))
	b := killed.session(c.one.ID())
	require.Eventually(t, func() bool { _, stages := actNotes(t, b); return len(stages) == 2 }, patience, 10*time.Millisecond)
	notes, stages := actNotes(t, b)
	require.Equal(t, []state.ActStage{state.ActBegun, state.ActFailed}, stages)
	require.Equal(t, event.Text("The pull request of abide/one was interrupted. Whether it was made is not known: look at the host of origin before it is made again."), notes[1].Text)
	c.close()
	err = <-done
	require.ErrorIs(t, err, state.ErrUnavailable)
	require.ErrorContains(t, err, "is not known")
}
