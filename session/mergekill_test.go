package session_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// killedAct is a hub on files whose process is killed in the middle of an act on a branch.
// Its fields are what the process that is killed gets to know.
type killedAct struct {
	root, kept              string // all its files, and how they were before the act
	dir, project, place, id string
	request                 branch.Request
	git                     *gitstate.Git
}

// killedActEnv makes the test binary do an act, and kill itself before a step.
const killedActEnv = "SESSION_TEST_KILLED_ACT"

func newKilledAct(t *testing.T, r branch.Request) *killedAct {
	t.Helper()
	temp, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(temp, "root")
	r.Key, r.Actor = "key", person("bob")
	k := &killedAct{root: root, kept: filepath.Join(temp, "kept"), dir: filepath.Join(root, "data"), project: filepath.Join(root, "project"), place: filepath.Join(root, "copies"), request: r}
	require.NoError(t, os.MkdirAll(k.dir, 0o700))
	for _, name := range []string{"changed", "gone", "ours"} {
		put(t, k.project, name, "first")
	}
	put(t, k.project, ".gitignore", "secret\n")
	runGit(t, k.project, "init", "-q", "-b", "main")
	named(t, k.project)
	runGit(t, k.project, "add", ".")
	runGit(t, k.project, "commit", "-q", "-m", "first")
	k.git, err = gitstate.New(t.Context(), "")
	require.NoError(t, err)
	h := k.open(t)
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: k.project, Name: "one", Worktree: &session.NewWorktree{}})
	require.NoError(t, err)
	k.id = b.ID()
	folder := k.folder()
	put(t, folder, "changed", "by the session")
	put(t, folder, "new/file", "by the session")
	require.NoError(t, os.Remove(filepath.Join(folder, "gone")))
	runGit(t, folder, "add", "-A")
	runGit(t, folder, "commit", "-q", "-m", "work")
	put(t, k.project, "ours", "by the person")
	runGit(t, k.project, "commit", "-q", "-a", "-m", "ours")
	for _, dir := range []string{k.project, folder} {
		put(t, dir, "mine", "not committed, of "+dir)
		put(t, dir, "secret", "ignored, of "+dir)
	}
	h.close()
	k.copied(t, k.root, k.kept)
	return k
}

func (k *killedAct) copied(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	require.NoError(t, err, string(out))
}

// again makes all files what they were before the act.
func (k *killedAct) again(t *testing.T) {
	t.Helper()
	require.NoError(t, os.RemoveAll(k.root))
	k.copied(t, k.kept, k.root)
}

// folder is the session's own working copy.
func (k *killedAct) folder() string { return filepath.Join(k.place, "project", "one") }

func (k *killedAct) open(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, dir: k.dir, workspace: k.project, agents: newAgents()}
	h.open(withGit(k.git, k.project), func(o *session.Options, _ *store.Options) { o.Worktrees.Folder = k.place })
	t.Cleanup(h.close)
	return h
}

// killed does the act in a process that kills itself before its step number at. It returns
// that step; empty if there are not so many.
func (k *killedAct) killed(t *testing.T, at int) (step string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheProcessOfAKilledAct$")
	r := k.request
	cmd.Env = append(os.Environ(), killedActEnv+"="+strings.Join([]string{strconv.Itoa(at), k.dir, k.project, k.place, k.id, r.Act, r.Method, r.Message}, "\n"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	var ok bool
	_, step, ok = strings.Cut(string(out), "killed before: ")
	require.True(t, ok, string(out))
	require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	return strings.TrimSpace(step)
}

func TestTheProcessOfAKilledAct(t *testing.T) {
	given := strings.Split(os.Getenv(killedActEnv), "\n")
	if len(given) != 8 {
		t.Skip("for the tests that kill it")
	}
	at, err := strconv.Atoi(given[0])
	require.NoError(t, err)
	k := &killedAct{dir: given[1], project: given[2], place: given[3], id: given[4], request: branch.Request{
		Act: given[5], Method: given[6], Message: given[7], Confirm: confirmed, Key: "key", Actor: person("bob"),
	}}
	k.git, err = gitstate.New(t.Context(), "")
	require.NoError(t, err)
	steps := 0
	k.git.OnStep(func(name string) {
		if steps++; steps == at {
			fmt.Println("killed before:", name)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	h := k.open(t)
	_, err = h.manager.ActOnBranch(ctxOf(t), k.id, k.request)
	require.NoError(t, err)
	if at == 0 { // after all of it, before it is answered
		fmt.Println("killed before: the answer")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

var confirmed = []string{branch.NeedUncommitted}

// personsOwn fails unless all that a person has in the two folders is as it was, whatever
// else became of the act.
func (k *killedAct) personsOwn(t *testing.T, step string) {
	t.Helper()
	for _, dir := range []string{k.project, k.folder()} {
		for name, text := range map[string]string{"mine": "not committed, of ", "secret": "ignored, of "} {
			found, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err, step)
			require.Equal(t, text+dir, string(found), step)
		}
		// No content is lost: each file is as one of the commits has it, or is gone in one.
		for name, known := range map[string][]string{"changed": {"first", "by the session"}, "ours": {"first", "by the person"}, "new/file": {"", "by the session"}, "gone": {"", "first"}} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if !os.IsNotExist(err) {
				require.NoError(t, err, step)
			}
			require.Contains(t, known, string(text), "%s after %q", name, step)
		}
	}
	require.Equal(t, "work", runGit(t, k.project, "log", "-1", "--format=%s", "--grep=work", "--all"), step)
	require.Equal(t, "ours", runGit(t, k.project, "log", "-1", "--format=%s", "--grep=ours", "main"), step)
	runGit(t, k.project, "fsck", "--strict")
}

// done fails unless the act has happened, once, and nothing of it is left to do.
func (k *killedAct) done(t *testing.T, step string) {
	t.Helper()
	at := k.project
	if k.request.Act == branch.Update {
		at = k.folder()
	}
	require.Equal(t, "?? mine", runGit(t, at, "status", "--porcelain"), step)
	for name, text := range map[string]string{"changed": "by the session", "ours": "by the person", "new/file": "by the session"} {
		found, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err, step)
		require.Equal(t, text, string(found), step)
	}
	require.NoFileExists(t, filepath.Join(at, "gone"), step)
	commits := map[string]int{"merge": 4, "squash": 3, "rebase": 3}[k.request.Method]
	require.Len(t, strings.Split(runGit(t, at, "log", "--format=%s", "HEAD"), "\n"), commits, "each once after %q", step)
	locks, err := filepath.Glob(filepath.Join(k.project, ".git", "*.lock"))
	require.NoError(t, err)
	require.Empty(t, locks, step)
}

// The hub is killed with kill -9 between any two steps of a merge, a squash and a rebase.
// The session says after the restart what happened, and the same request completes it.
func TestAKillBetweenTwoStepsOfAMergeIsToldAndTheSameRequestCompletesIt(t *testing.T) {
	requests := []branch.Request{
		{Act: branch.Merge, Method: "merge", Confirm: confirmed},
		{Act: branch.Merge, Method: "squash", Message: "all of it", Confirm: confirmed},
		{Act: branch.Update, Method: "rebase", Confirm: confirmed},
	}
	if rounds(1) == 1 {
		requests = requests[:1] // the others take the same steps: a soak walks them
	}
	for _, r := range requests {
		t.Run(r.Method, func(t *testing.T) {
			k := newKilledAct(t, r)
			require.NotEmpty(t, k.killed(t, 0))
			h := k.open(t)
			_, err := h.manager.ActOnBranch(ctxOf(t), k.id, k.request)
			require.NoError(t, err, "the answer was lost")
			_, stages := actNotes(t, h.session(k.id))
			require.Equal(t, []state.ActStage{state.ActBegun, state.ActDone}, stages)
			k.personsOwn(t, "the answer")
			k.done(t, "the answer")
			h.close()
			for at := 1; ; at++ {
				k.again(t)
				step := k.killed(t, at)
				if step == "" {
					require.Greater(t, at, 6)
					return
				}
				k.personsOwn(t, step)
				h := k.open(t)
				k.told(t, h, step)
				_, err := h.manager.ActOnBranch(ctxOf(t), k.id, k.request)
				require.NoError(t, err, step)
				k.personsOwn(t, step)
				k.done(t, step)
				_, stages := actNotes(t, h.session(k.id))
				require.Equal(t, state.ActDone, stages[len(stages)-1], step)
				h.close()
			}
		})
	}
}

// told fails unless the session says, without being asked, whether the act happened.
func (k *killedAct) told(t *testing.T, h *hub, step string) {
	t.Helper()
	b := h.session(k.id)
	var notes []event.Note
	require.Eventually(t, func() bool { notes, _ = actNotes(t, b); return len(notes) == 2 }, patience, 5*time.Millisecond, step)
	said := string(notes[1].Text)
	if step == "branch moved" {
		require.Contains(t, said, "It was interrupted after that", step)
		return
	}
	require.Contains(t, said, "was interrupted (", step)
	require.Contains(t, said, "did not happen", step)
}
