package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
)

// jobMessage is one message of a job's stream.
type jobMessage struct {
	id, name string
	data     wire.JobEvent
}

// jobStream reads a job's stream after the message with an id, until it has n messages or
// the job's end.
func jobStream(t *testing.T, h *hub, id, after, query string, n int) (all []jobMessage) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.addr+"/api/jobs/"+id+"/events"+query, nil)
	require.NoError(t, err)
	r.Header = bearer(h.token)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 200, res.StatusCode)
	lines, message := bufio.NewScanner(res.Body), jobMessage{}
	for len(all) < n && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			message.name = value
		case "id":
			message.id = value
		case "data":
			message.data = wire.JobEvent{}
			require.NoError(t, json.Unmarshal([]byte(value), &message.data))
			require.Equal(t, message.name, string(message.data.Type))
			require.True(t, strings.HasSuffix(message.id, fmt.Sprint(":", message.data.Seq)))
			all = append(all, message)
			if is := message.data; is.Type == wire.JobStatus && is.Message == "completed" {
				return all
			}
		}
	}
	return all
}

// runJobs runs the jobs of a hub until the test ends.
func runJobs(t *testing.T, h *hub) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		jobs.New(jobs.Options{Manager: h.manager}).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
}

// TestAJobsStreamIsWholeHoweverOftenItIsLost loses a job's stream after every message, and
// continues it by the id of that message.
func TestAJobsStreamIsWholeHoweverOftenItIsLost(t *testing.T) {
	h := startHub(t, hubOptions{})
	runJobs(t, h)
	var job wire.JobInfo
	h.api("POST", "/api/jobs", map[string]any{"task": "alternate 120", "worktree": false}).decode(t, &job)

	var parts []jobMessage
	for last := ""; ; last = parts[len(parts)-1].id {
		more := jobStream(t, h, job.JobID, last, "", 1)
		require.Len(t, more, 1)
		if parts = append(parts, more...); more[0].data.Message == "completed" {
			break
		}
	}
	whole := jobStream(t, h, job.JobID, "", "", 1<<20)
	require.Equal(t, whole, parts)
	require.Greater(t, len(whole), 100)
	require.Equal(t, []string{"queued", "running"}, []string{whole[0].data.Message, whole[1].data.Message})

	other := jobStream(t, h, job.JobID, "00000000000000ff:4", "", 1<<20)
	require.Equal(t, whole, other, "a place of another log is the beginning")
}

// TestAStreamThatBeginsFarBackHasCheckpointsAndStatusOnly reads the stream of a long job.
func TestAStreamThatBeginsFarBackHasCheckpointsAndStatusOnly(t *testing.T) {
	h := startHub(t, hubOptions{})
	runJobs(t, h)
	var job wire.JobInfo
	h.api("POST", "/api/jobs", map[string]any{"task": "say 2500", "worktree": false}).decode(t, &job)
	jobStream(t, h, job.JobID, "", "?full=true", 1<<20)
	count := func(query string) (said, status int) {
		for _, m := range jobStream(t, h, job.JobID, "", query, 1<<20) {
			if m.data.Type == wire.JobLog {
				said++
			} else {
				status++
			}
		}
		return said, status
	}
	said, status := count("?full=true")
	require.Equal(t, 2500, said)
	fewer, same := count("")
	require.Less(t, fewer, 2000)
	require.Greater(t, fewer, 1900)
	require.Equal(t, status, same)
	require.Equal(t, 404, h.api("GET", "/api/jobs/"+h.session().ID()+"/events", nil).status)
}

// TestTheConfigurationSaysHowFarBackAStreamIsWhole reads the stream of a job that is longer.
func TestTheConfigurationSaysHowFarBackAStreamIsWhole(t *testing.T) {
	h := startHub(t, hubOptions{jobs: jobs.Settings{StreamEvents: 100}})
	runJobs(t, h)
	var job wire.JobInfo
	h.api("POST", "/api/jobs", map[string]any{"task": "say 250", "worktree": false}).decode(t, &job)
	jobStream(t, h, job.JobID, "", "?full=true", 1<<20)
	said := 0
	for _, m := range jobStream(t, h, job.JobID, "", "", 1<<20) {
		if m.data.Type == wire.JobLog {
			said++
		}
	}
	require.Less(t, said, 100)
	require.Greater(t, said, 80)
}

// jobIDs lists the jobs of a query.
func (h *hub) jobIDs(query string) (ids []string) {
	var all wire.Jobs
	h.api("GET", "/api/jobs"+query, nil).decode(h.t, &all)
	for _, j := range all.Jobs {
		ids = append(ids, j.JobID)
	}
	return ids
}

// TestTheListOfJobsHasThoseThatASessionDelegated lists the jobs of one session among others.
func TestTheListOfJobsHasThoseThatASessionDelegated(t *testing.T) {
	h := startHub(t, hubOptions{})
	one, two := h.session().ID(), h.session().ID()
	delegated := func(by string) string {
		var job wire.JobInfo
		h.api("POST", "/api/jobs", map[string]any{"task": "say hello", "worktree": false, "session_id": by}).decode(t, &job)
		require.Equal(t, by, job.SessionID)
		return job.JobID
	}
	first, other, second, third := delegated(one), delegated(two), delegated(one), delegated("")
	require.Equal(t, []string{second, first}, h.jobIDs("?session="+one))
	require.Equal(t, []string{other}, h.jobIDs("?session="+two))
	require.Len(t, h.jobIDs("?status=queued&session="+one), 2)
	require.Empty(t, h.jobIDs("?status=failed&session="+one))
	require.Empty(t, h.jobIDs("?session="+third), "a session that delegated none")
	for _, id := range []string{"nobody", "%00", one[:len(one)-1]} {
		refused := h.api("GET", "/api/jobs?session="+id, nil)
		require.Equal(t, 400, refused.status, id)
		require.Contains(t, string(refused.body), "give the whole id")
	}
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+two, nil).status)
	require.Equal(t, []string{other}, h.jobIDs("?session="+two), "the jobs of a deleted one are found")
}

// TestARefusedJobNamesTheFieldThatIsWrong asks for jobs and sessions that are refused.
func TestARefusedJobNamesTheFieldThatIsWrong(t *testing.T) {
	h := startHub(t, hubOptions{})
	for field, body := range map[string]map[string]any{
		"task":           {"task": " "},
		"files":          {"task": "say hello", "files": []string{"../x"}},
		"agent":          {"task": "say hello", "agent": "nobody", "worktree": false},
		"workspace":      {"task": "say hello", "workspace": "here"},
		"worktree":       {"task": "say hello", "worktree": map[string]any{"branch": "x"}},
		"attempts":       {"task": "say hello", "attempts": 9},
		"auditor":        {"task": "say hello", "auditor": "strict", "worktree": false},
		"policy.preset":  {"task": "say hello", "policy": map[string]any{"preset": "edit_test"}, "worktree": false},
		"policy.outside": {"task": "say hello", "policy": map[string]any{"outside": "ask"}, "worktree": false},
		"policy.allow":   {"task": "say hello", "policy": map[string]any{"allow": []any{map[string]any{"kind": "fly"}}}, "worktree": false},
		"caps":           {"task": "say hello", "caps": map[string]any{"rounds": -1}, "worktree": false},
		"session_id":     {"task": "say hello", "session_id": "nobody", "worktree": false},
		"resume":         {"task": "say hello", "resume": "never", "worktree": false},
	} {
		require.Equal(t, field, refusedField(t, h.api("POST", "/api/jobs", body)), "%v", body)
	}
	unknown := map[string]any{"task": "say hello", "session_id": h.session().ID(), "files": []string{strings.Repeat("0a", 32)}, "worktree": false}
	require.Equal(t, "files", refusedField(t, h.api("POST", "/api/jobs", unknown)))
	require.Empty(t, h.jobIDs(""))
	require.Equal(t, "agent", refusedField(t, h.api("POST", "/api/sessions", map[string]any{"agent": "nobody"})))
	require.Equal(t, "workspace", refusedField(t, h.api("POST", "/api/sessions", map[string]any{"workspace": "here"})))
}

// refusedField is the field of a request that the hub refuses.
func refusedField(t *testing.T, a response) string {
	t.Helper()
	require.Equal(t, 400, a.status, "%s", a.body)
	var refused wire.Refused
	require.NoError(t, json.Unmarshal([]byte(a.body), &refused))
	return refused.Error.Field
}
