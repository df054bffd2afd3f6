package jobs_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
)

// TestManyJobsRunOnceAndTheirProjectsTakeTurns queues jobs of four agents in three projects,
// most of them in one: none of the sessions is opened while it waits, and each runs once. As
// long as all three have some that wait, each gets a third of the starts, within 10 % or
// three of few. In make soak there are 500, and a page of the list takes less than 50 ms.
func TestManyJobsRunOnceAndTheirProjectsTakeTurns(t *testing.T) {
	total, soaking := 100, soak.On()
	if soaking {
		total = 500
	}
	h := start(t, options{idle: true})
	agents, small := []string{"player", "other", "third", "fourth"}, total/5
	ids := map[string]string{} // projects by jobs
	for i := range total {
		project := "a"
		if i >= total-2*small {
			project = []string{"b", "c"}[i%2]
		}
		folder := filepath.Join(h.folder, project, fmt.Sprint(i)) // no job waits for another's folder
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(h.folder, project, ".git"), 0o755))
		id := h.job(event.Job{Task: fmt.Sprintf("say %s %d", project, i)}, func(r *session.CreateRequest) {
			r.Workspace, r.Agent = folder, agents[i%len(agents)]
		})
		ids[id] = project
	}
	require.Zero(t, h.manager.EverOpened(), "a job that waits is no open session")
	began := time.Now()
	page, err := h.runner.List(event.JobQueued, list.Options{Limit: 200})
	took := time.Since(began)
	require.NoError(t, err)
	require.Len(t, page.Sessions, min(200, total))
	if soaking {
		require.Less(t, took, 50*time.Millisecond)
	}
	h.stop()

	s := jobs.Settings{AtOnce: 4, PerAgent: 3, PerProject: 3}
	h = start(t, options{device: h.device, cast: h.cast, folder: h.folder, Settings: s})
	for id := range ids {
		require.Equal(t, event.JobCompleted, h.ended(id).Status)
	}
	require.LessOrEqual(t, h.cast.most, s.AtOnce)
	require.Len(t, h.cast.told, total)
	for task, n := range h.cast.told {
		require.Equal(t, 1, n, task)
	}
	all := h.manager.Jobs()
	slices.SortFunc(all, func(a, b list.Info) int {
		return cmp.Or(a.Job.StartedAt.Compare(*b.Job.StartedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	starts := map[string]int{}
	for _, info := range all[:small*5/2] { // b and c have some that wait until then
		starts[ids[info.SessionID]]++
	}
	for _, project := range []string{"a", "b", "c"} {
		share := float64(small*5/2) / 3
		require.InDelta(t, share, starts[project], max(share/10, 3), "%v", starts)
	}
}
