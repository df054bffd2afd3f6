package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// ErrNoQuestion says that a permission request is not in the log.
var ErrNoQuestion = errors.New("the question is not in the log")

// Question looks back from a seq for a permission request.
func (h *Hub) Question(ctx context.Context, id string, before event.Seq, permission string) (event.PermissionRequest, error) {
	for {
		page, err := h.EventsBefore(ctx, id, before, wire.MaxPage)
		if err != nil {
			return event.PermissionRequest{}, err
		}
		for _, e := range page.Events {
			payload, err := e.Payload()
			if request, ok := payload.(event.PermissionRequest); err == nil && ok && request.PermissionID == permission {
				return request, nil
			}
		}
		if len(page.Events) == 0 || !page.HasMore {
			return event.PermissionRequest{}, ErrNoQuestion
		}
		before = page.FirstSeq
	}
}

// Complete lists the paths of a session's workspace that match what was typed, the best
// first.
func (h *Hub) Complete(ctx context.Context, id, typed string) (wire.Completions, error) {
	var found wire.Completions
	err := h.do(ctx, http.MethodGet, session(id)+"/complete?q="+url.QueryEscape(typed), nil, &found)
	return found, err
}
