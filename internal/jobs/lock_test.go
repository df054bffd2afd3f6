package jobs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

func inFolder(folder string) func(*session.CreateRequest) {
	return func(r *session.CreateRequest) { r.Workspace = folder }
}

// TestJobsInOneCheckoutRunOneAfterTheOther has a job at work in a checkout while others are
// given in a folder of it, by a link, in a folder around it, and elsewhere.
func TestJobsInOneCheckoutRunOneAfterTheOther(t *testing.T) {
	var o options
	o.inRepository(t)
	repo := o.folder
	o.folder, o.Settings = filepath.Dir(repo), jobs.Settings{AtOnce: 10}
	sub, link, apart := filepath.Join(repo, "sub"), filepath.Join(o.folder, "link"), filepath.Join(o.folder, "apart")
	require.NoError(t, os.Mkdir(sub, 0o755))
	require.NoError(t, os.Symlink(sub, link))
	require.NoError(t, os.Mkdir(apart, 0o755))
	h := start(t, o)
	first := h.job(event.Job{Task: "hold"}, inFolder(sub))
	h.given(first)
	var waiting []string
	for _, folder := range []string{repo, link, h.folder} {
		waiting = append(waiting, h.job(event.Job{Task: "say " + folder}, inFolder(folder)))
	}
	inCopy := h.job(event.Job{Task: "say in a copy"}, inFolder(repo), inCopy)
	require.Equal(t, event.JobCompleted, h.ended(inCopy).Status, "a working copy is another place")
	require.Equal(t, event.JobCompleted, h.ended(h.job(event.Job{Task: "say apart"}, inFolder(apart))).Status)
	for _, id := range waiting {
		require.Equal(t, event.JobQueued, h.line(id).Job.Status)
	}
	require.NoError(t, h.runner.Cancel(t.Context(), first, event.Actor{Name: "ann"}))
	for _, id := range waiting {
		require.Equal(t, event.JobCompleted, h.ended(id).Status)
	}
}

// TestAJobEndsWhoseBranchIsSwitched has an agent that switches the branch of its checkout and
// of its working copy.
func TestAJobEndsWhoseBranchIsSwitched(t *testing.T) {
	var o options
	o.inRepository(t)
	h := start(t, o)
	here := h.job(event.Job{Task: "edit a.txt\nbranch feature\nsay done"})
	line := h.ended(here)
	require.Equal(t, event.JobCancelled, line.Status)
	require.Equal(t, o.folder+" is on the branch feature now, and this job works on the branch main: go back (git switch main), then retry the job.", line.Reason)
	info, err := h.runner.Info(t.Context(), here)
	require.NoError(t, err)
	require.Equal(t, o.folder, info.Lock.Repository)
	require.Equal(t, "main", info.Lock.Branch)
	require.Len(t, info.Lock.Commit, 40)
	require.Equal(t, "done", info.ResultSummary)

	copied := h.job(event.Job{Task: "branch other\nsay done"}, inCopy)
	line = h.ended(copied)
	require.Equal(t, event.JobCancelled, line.Status)
	require.Contains(t, line.Reason, "is on the branch other now, and this job works on the branch "+h.line(copied).Worktree.Branch)

	require.NoError(t, exec.Command("git", "-C", o.folder, "switch", "-q", "main").Run())
	again, _, err := h.runner.Retry(t.Context(), here, "", event.Actor{Name: "ann", ID: "1"})
	require.NoError(t, err)
	require.Equal(t, event.JobCompleted, h.ended(again.SessionID).Status, "the branch feature exists, so it is not switched to")
}

// TestARebaseIsNoOtherBranch ends a turn while the branch of the checkout is being rebased.
func TestARebaseIsNoOtherBranch(t *testing.T) {
	var o options
	o.inRepository(t)
	rebase := filepath.Join(o.folder, ".git", "rebase-merge")
	require.NoError(t, os.Mkdir(rebase, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(rebase, "head-name"), []byte("refs/heads/main\n"), 0o644))
	h := start(t, o)
	require.Equal(t, event.JobCompleted, h.ended(h.job(event.Job{Task: "detach\nsay done"})).Status)
	require.NoError(t, os.RemoveAll(rebase))
	require.NoError(t, exec.Command("git", "-C", o.folder, "switch", "-q", "main").Run())
	line := h.ended(h.job(event.Job{Task: "detach\nsay done again"}))
	require.Equal(t, event.JobCancelled, line.Status)
	require.Contains(t, line.Reason, "is on no branch now")
}
