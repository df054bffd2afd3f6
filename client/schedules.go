package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/abidehub/abide/server/wire"
)

// AddSchedule makes a schedule. The same key again makes no other one.
func (h *Hub) AddSchedule(ctx context.Context, key string, in wire.NewSchedule) (s wire.Schedule, err error) {
	err = h.send(ctx, http.MethodPost, "/api/schedules", http.Header{"Idempotency-Key": {key}}, in, &s)
	return s, err
}

// Schedules lists all schedules, oldest first.
func (h *Hub) Schedules(ctx context.Context) (all wire.ScheduleList, err error) {
	err = h.do(ctx, http.MethodGet, "/api/schedules", nil, &all)
	return all, err
}

// Schedule is one schedule.
func (h *Hub) Schedule(ctx context.Context, id string) (s wire.Schedule, err error) {
	err = h.do(ctx, http.MethodGet, "/api/schedules/"+url.PathEscape(id), nil, &s)
	return s, err
}

// DeleteSchedule removes a schedule.
func (h *Hub) DeleteSchedule(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodDelete, "/api/schedules/"+url.PathEscape(id), nil, nil)
}

// PauseSchedule makes a schedule make no more jobs.
func (h *Hub) PauseSchedule(ctx context.Context, id string) (s wire.Schedule, err error) {
	err = h.do(ctx, http.MethodPost, "/api/schedules/"+url.PathEscape(id)+"/pause", nil, &s)
	return s, err
}

// ResumeSchedule continues a paused schedule.
func (h *Hub) ResumeSchedule(ctx context.Context, id string) (s wire.Schedule, err error) {
	err = h.do(ctx, http.MethodPost, "/api/schedules/"+url.PathEscape(id)+"/resume", nil, &s)
	return s, err
}
