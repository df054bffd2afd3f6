package server_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// runSchedules runs the schedules of a hub until the test ends.
func runSchedules(t *testing.T, h *hub) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		h.schedules.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
}

// TestAScheduleMakesAJobWhenItIsDue adds schedules over HTTP, lets their time come, and
// reads what became of them. One is of a credential that was revoked.
func TestAScheduleMakesAJobWhenItIsDue(t *testing.T) {
	var ahead atomic.Int64
	h := startHub(t, hubOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	runJobs(t, h)
	in := map[string]any{"job": map[string]any{"task": "say hello", "worktree": false}, "every": "1h"}
	key := bearer(h.token)
	key.Set("Idempotency-Key", "k1")
	var made, gone wire.Schedule
	first := h.do("POST", "/api/schedules", in, key)
	require.Equal(t, 201, first.status, first.body)
	first.decode(t, &made)
	require.Equal(t, 200, h.do("POST", "/api/schedules", in, key).status)

	otherToken, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: "other"})
	require.NoError(t, err)
	h.do("POST", "/api/schedules", in, bearer(otherToken)).decode(t, &gone)
	require.NoError(t, h.registry.Revoke(grant.ID))

	ahead.Store(int64(3*time.Hour + time.Minute))
	runSchedules(t, h)
	get := func(id string) (s wire.Schedule) {
		h.api("GET", "/api/schedules/"+id, nil).decode(t, &s)
		return s
	}
	require.Eventually(t, func() bool {
		s := get(made.ScheduleID)
		return len(s.Outcomes) == 1 && s.Outcomes[0].JobStatus == event.JobCompleted
	}, patience, time.Millisecond)
	var job wire.JobInfo
	h.api("GET", "/api/jobs/"+get(made.ScheduleID).Outcomes[0].JobID, nil).decode(t, &job)
	require.Equal(t, "owner (schedule "+made.ScheduleID+")", job.RequestedBy)
	require.Equal(t, made.ScheduleID, job.ScheduleID)
	var other wire.JobInfo
	h.api("POST", "/api/jobs", map[string]any{"task": "say hello", "worktree": false}).decode(t, &other)
	require.Equal(t, []string{job.JobID}, h.jobIDs("?schedule="+made.ScheduleID), "the other job is of no schedule")
	require.Empty(t, h.jobIDs("?schedule="+gone.ScheduleID))
	require.Equal(t, made.CreatedAt.Add(4*time.Hour), *get(made.ScheduleID).NextAt)

	require.Eventually(t, func() bool { return get(gone.ScheduleID).Status == wire.SchedulePaused }, patience, time.Millisecond)
	require.Contains(t, get(gone.ScheduleID).Reason, "was revoked")
	require.Equal(t, 409, h.api("POST", "/api/schedules/"+gone.ScheduleID+"/resume", nil).status)
	var all wire.Jobs
	h.api("GET", "/api/jobs", nil).decode(t, &all)
	require.Len(t, all.Jobs, 2)
	require.Equal(t, 204, h.api("DELETE", "/api/schedules/"+gone.ScheduleID, nil).status)
	var trail []string
	for _, r := range h.audit("0") {
		if strings.HasPrefix(string(r.Verb), "schedule_") {
			trail = append(trail, r.By+" "+string(r.Verb)+" "+r.Detail)
		}
	}
	require.Equal(t, []string{
		"owner schedule_added " + made.ScheduleID + ", every 1h: say hello", "other schedule_added " + gone.ScheduleID + ", every 1h: say hello",
		"owner schedule_deleted " + gone.ScheduleID,
	}, trail, "one that was repeated or refused is none")
	require.Equal(t, 200, h.api("POST", "/api/schedules/"+made.ScheduleID+"/pause", nil).status)
	require.Equal(t, 200, h.api("POST", "/api/schedules/"+made.ScheduleID+"/resume", nil).status)
	last := h.audit("0")
	require.Equal(t, []audit.Verb{audit.SchedulePaused, audit.ScheduleResumed}, []audit.Verb{last[len(last)-2].Verb, last[len(last)-1].Verb})
	require.Equal(t, 404, h.api("GET", "/api/schedules/"+gone.ScheduleID, nil).status)
	refused := h.api("GET", "/api/jobs?schedule="+gone.ScheduleID, nil)
	require.Equal(t, 400, refused.status, "it is deleted and made none")
	require.Contains(t, string(refused.body), "give the whole id")
	require.Equal(t, 204, h.api("DELETE", "/api/schedules/"+made.ScheduleID, nil).status)
	require.Equal(t, []string{job.JobID}, h.jobIDs("?schedule="+made.ScheduleID), "the jobs of a deleted one are found")
}

// TestAScheduleIsCheckedBeforeItIsMade refuses jobs that could not be made.
func TestAScheduleIsCheckedBeforeItIsMade(t *testing.T) {
	h := startHub(t, hubOptions{})
	for _, job := range []map[string]any{{"task": ""}, {"task": "x", "agent": "nobody"}, {"task": "x", "files": []string{"../x"}}, {"task": "x", "worktree": map[string]any{"base": "none"}}} {
		res := h.api("POST", "/api/schedules", map[string]any{"job": job, "every": "1h"})
		require.Equal(t, 400, res.status, "%v: %s", job, res.body)
	}
	for field, rule := range map[string]map[string]any{
		"every": {"every": "1s"}, "cron": {"cron": "* *"}, "zone": {"cron": "0 0 * * *", "zone": "Nowhere"}, "overlap": {"every": "1h", "overlap": "both"},
	} {
		rule["job"] = map[string]any{"task": "x", "worktree": false}
		require.Equal(t, field, refusedField(t, h.api("POST", "/api/schedules", rule)), "%v", rule)
	}
	require.Equal(t, 403, h.api("POST", "/api/schedules", map[string]any{"job": map[string]any{"task": "x", "workspace": "/nowhere"}, "every": "1h"}).status)
	require.NoFileExists(t, filepath.Join(h.dir, "schedules.json"))
}

// TestHealthSaysThatTheSchedulesCannotBeRead leaves the file for its owner.
func TestHealthSaysThatTheSchedulesCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "schedules.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	h := startHub(t, hubOptions{dir: dir})
	var health wire.Health
	h.api("GET", "/api/health", nil).decode(t, &health)
	require.Contains(t, health.Schedules, "schedules.json is damaged")
	res := h.api("POST", "/api/schedules", map[string]any{"job": map[string]any{"task": "x"}, "every": "1h"})
	require.Equal(t, http.StatusServiceUnavailable, res.status)
	require.Contains(t, res.body, "move it away")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "{", string(kept))
}
