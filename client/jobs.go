package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// CreateJob makes a job. The same key again makes no other one.
func (h *Hub) CreateJob(ctx context.Context, key string, j wire.NewJob) (wire.JobInfo, error) {
	return h.changeJob(ctx, "/api/jobs", key, j)
}

func (h *Hub) changeJob(ctx context.Context, path, key string, body any) (wire.JobInfo, error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	var job wire.JobInfo
	err := h.send(ctx, http.MethodPost, path, header, body, &job)
	return job, err
}

// JobFilter selects jobs: those with a status, that a session delegated, that a schedule
// made, that attempt the task of a first job, that a machine has. Empty fields select any.
type JobFilter struct {
	Status                      event.JobStatus
	Session, Schedule, Attempts string
	// Machine is the id or the name of a machine, or here for the hub's own.
	Machine string
}

// Jobs is a page of jobs, newest first.
func (h *Hub) Jobs(ctx context.Context, f JobFilter, cursor string) (wire.Jobs, error) {
	query := url.Values{"limit": {"200"}}
	for name, value := range map[string]string{"status": string(f.Status), "session": f.Session, "schedule": f.Schedule, "attempts": f.Attempts, "machine": f.Machine, "cursor": cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var page wire.Jobs
	err := h.do(ctx, http.MethodGet, "/api/jobs?"+query.Encode(), nil, &page)
	return page, err
}

// Job is one job, whole.
func (h *Hub) Job(ctx context.Context, id string) (wire.JobInfo, error) {
	var job wire.JobInfo
	err := h.do(ctx, http.MethodGet, jobPath(id), nil, &job)
	return job, err
}

// CancelJob ends a job before its time.
func (h *Hub) CancelJob(ctx context.Context, id string) (wire.JobInfo, error) {
	return h.changeJob(ctx, jobPath(id)+"/cancel", "", nil)
}

// RetryJob makes a job anew that has ended.
func (h *Hub) RetryJob(ctx context.Context, id, key string) (wire.JobInfo, error) {
	return h.changeJob(ctx, jobPath(id)+"/retry", key, nil)
}

// DiscardOthers cancels the other attempts at a job's task and discards their working
// copies. It returns those that are still ending: it is to be called again.
func (h *Hub) DiscardOthers(ctx context.Context, id string) (ending wire.Jobs, err error) {
	err = h.do(ctx, http.MethodPost, jobPath(id)+"/discard-others", nil, &ending)
	return ending, err
}

func jobPath(id string) string { return "/api/jobs/" + url.PathEscape(id) }
