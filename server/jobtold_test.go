package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// TestADeviceIsToldTheEndOfAJobAndAWebhookEachStatus parks a job, which a person answers, and
// then cancels another.
func TestADeviceIsToldTheEndOfAJobAndAWebhookEachStatus(t *testing.T) {
	url, got := listener(t)
	h := startHub(t, hubOptions{notify: quick(), channels: []notify.Channel{{Name: "desk", Type: notify.Webhook, URL: url + "/hook", Secret: hookSecret}}})
	runJobs(t, h)
	phone := h.browser("phone")
	made := func(task string) (job wire.JobInfo) {
		h.api("POST", "/api/jobs", map[string]any{"task": task, "worktree": false, "policy": map[string]any{"outside": "park"}}).decode(t, &job)
		return job
	}
	// statuses are the next ones of a job, up to one, of which the webhook is told.
	statuses := func(id string, last event.JobStatus) (all []event.JobStatus) {
		for len(all) == 0 || all[len(all)-1] != last {
			message := <-got
			var p notify.Payload
			require.NoError(t, json.Unmarshal([]byte(message.body), &p))
			require.NotEmpty(t, message.signature)
			if p.SessionID == id && p.Kind == notify.Job {
				all = append(all, p.JobStatus)
			}
		}
		return all
	}

	job := made("ask")
	require.Equal(t, notify.Permission, phone.next().Kind)
	require.Equal(t, []event.JobStatus{event.JobRunning, event.JobParked}, statuses(job.JobID, event.JobParked))
	b, err := h.manager.Session(t.Context(), job.JobID)
	require.NoError(t, err)
	_, err = b.AnswerPermission(t.Context(), session.Answer{PermissionID: b.State().PendingPermissions[0], OptionID: "yes", Actor: event.Actor{Name: "ann"}})
	require.NoError(t, err)
	told := statuses(job.JobID, event.JobCompleted)
	told = slices.DeleteFunc(told, func(is event.JobStatus) bool { return is == event.JobRunning }) // it may be too short
	require.Equal(t, []event.JobStatus{event.JobCompleted}, told)
	p := phone.next()
	if p.Kind == notify.Withdrawn { // of the question
		p = phone.next()
	}
	require.Equal(t, notify.Job, p.Kind)
	require.Equal(t, job.JobID, p.SessionID)
	require.Equal(t, event.JobCompleted, p.JobStatus)
	require.Contains(t, p.Body, "Completed.")
	require.Nil(t, p.Answer)

	cancelled := made("ask")
	require.Equal(t, notify.Permission, phone.next().Kind)
	require.Equal(t, []event.JobStatus{event.JobRunning, event.JobParked}, statuses(cancelled.JobID, event.JobParked))
	require.Equal(t, 202, h.api("POST", "/api/jobs/"+cancelled.JobID+"/cancel", nil).status)
	require.Equal(t, []event.JobStatus{event.JobStopping, event.JobCancelled}, statuses(cancelled.JobID, event.JobCancelled))
	for _, id := range []string{cancelled.JobID, job.JobID} {
		require.Equal(t, 200, h.api("POST", "/api/jobs/"+id+"/cancel", nil).status, "it has ended")
	}
	last := made("say 1")
	for p = phone.next(); p.Kind == notify.Withdrawn; {
		p = phone.next()
	}
	require.Equal(t, last.JobID, p.SessionID, "the cancel of a person is told to a person: %+v", p)
	require.Equal(t, notify.Job, p.Kind, "its turn is told, too")
}

// TestAWebhookThatIsSlowGetsEachStatusOfAJob answers a job's question before the webhook has
// taken the first message.
func TestAWebhookThatIsSlowGetsEachStatusOfAJob(t *testing.T) {
	got, ready := make(chan notify.Payload, 100), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-ready
		var p notify.Payload
		if json.NewDecoder(r.Body).Decode(&p) == nil {
			got <- p
		}
	}))
	t.Cleanup(slow.Close)
	h := startHub(t, hubOptions{notify: quick(), channels: []notify.Channel{{Name: "desk", Type: notify.Webhook, URL: slow.URL, Secret: hookSecret}}})
	runJobs(t, h)
	phone := h.browser("phone")
	var job wire.JobInfo
	h.api("POST", "/api/jobs", map[string]any{"task": "ask", "worktree": false, "policy": map[string]any{"outside": "park"}}).decode(t, &job)
	require.Equal(t, notify.Permission, phone.next().Kind)
	require.Equal(t, 202, h.api("POST", "/api/jobs/"+job.JobID+"/cancel", nil).status)
	b, err := h.manager.Session(t.Context(), job.JobID)
	require.NoError(t, err)
	h.await(b, 0, event.TypeSessionEnd)
	close(ready)
	var all []event.JobStatus
	for len(all) == 0 || !all[len(all)-1].Ended() {
		if p := <-got; p.Kind == notify.Job && p.JobStatus != event.JobParked { // which may have been too short
			all = append(all, p.JobStatus)
		}
	}
	require.Equal(t, []event.JobStatus{event.JobRunning, event.JobStopping, event.JobCancelled}, all)
}
