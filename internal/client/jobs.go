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

// Jobs is a page of jobs, newest first; an empty status is any.
func (h *Hub) Jobs(ctx context.Context, status event.JobStatus, cursor string) (wire.Jobs, error) {
	query := url.Values{"limit": {"200"}}
	if status != "" {
		query.Set("status", string(status))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
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

func jobPath(id string) string { return "/api/jobs/" + url.PathEscape(id) }
