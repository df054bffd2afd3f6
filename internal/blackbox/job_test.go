package blackbox_test

import (
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestJobsEndOnceAndLeaveNoCopyBehindHoweverOftenTheHubIsKilled kills the hub of eight jobs
// in working copies again and again, also while their auditor looks at them. A job whose
// creation was answered is there, and each ends once.
func TestJobsEndOnceAndLeaveNoCopyBehindHoweverOftenTheHubIsKilled(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{more: "jobs: {at_once: 3}\nworktrees: beside\n" +
		"projects: {workspace: {jobs: {auditors: {slow: [sh, -c, sleep 0.1]}, auditor: slow}}}\n", before: func(h *hub) {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
			out, err := exec.Command("git", append([]string{"-C", h.workspace}, args...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}})
	made := map[string]bool{}
	dice := rand.New(rand.NewPCG(7, 7))
	for kills := range 6 {
		for range 2 {
			if kills < 4 {
				job, err := h.hub.CreateJob(t.Context(), "", wire.NewJob{Agent: "demo", Workspace: h.workspace, Task: "/echo done", Resume: event.JobAuto})
				require.NoError(t, err)
				made[job.JobID] = true
			}
		}
		time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond) // any moment will do
		h.kill()
		h.start()
	}
	deadline := time.Now().Add(patience)
	for open := len(made); open > 0; {
		require.True(t, time.Now().Before(deadline), "jobs did not end")
		open = 0
		page, err := h.hub.Jobs(t.Context(), client.JobFilter{}, "")
		require.NoError(t, err)
		require.Len(t, page.Jobs, len(made))
		for _, j := range page.Jobs {
			require.True(t, made[j.JobID])
			if !j.Status.Ended() {
				open++
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	for id := range made {
		job, err := h.hub.Job(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, event.JobCompleted, job.Status, "%+v", job)
		log := onDisk(t, h, id)
		require.Len(t, payloads[event.SessionEnd](t, log), 1)
		tasks := 0
		for _, p := range payloads[event.UserPrompt](t, log) {
			if p.PromptID == "job-"+id {
				tasks++
			}
		}
		require.Equal(t, 1, tasks, "the task was given more than once")
		verdicts := map[int]int{}
		for _, v := range job.Verdicts {
			require.True(t, v.Accepted)
			verdicts[v.Turn]++
		}
		require.Equal(t, 1, verdicts[0], "%+v", job.Verdicts)
		require.Greater(t, len(verdicts), 1)
		for turn, n := range verdicts {
			require.Equal(t, 1, n, "turn %d was judged more than once", turn)
		}
	}
	copies, err := h.hub.Worktrees(t.Context())
	require.NoError(t, err)
	require.Len(t, copies.Worktrees, len(made))
	for _, c := range copies.Worktrees {
		require.Len(t, c.Sessions, 1, "a working copy without an owner: %s", c.Folder)
	}
}
