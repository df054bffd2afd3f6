package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

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

// ErrNoEnd says that the end of a turn is not in the log.
var ErrNoEnd = errors.New("the end of the turn is not in the log")

// TurnEnd looks back from a seq for the end of a prompt's turn, and why it was interrupted, if it
// was.
func (h *Hub) TurnEnd(ctx context.Context, id string, before event.Seq, prompt string) (end event.TurnEnd, cut event.InterruptReason, err error) {
	found := false
	for {
		page, err := h.EventsBefore(ctx, id, before, wire.MaxPage)
		if err != nil {
			return end, "", err
		}
		for _, e := range slices.Backward(page.Events) {
			payload, err := e.Payload()
			if err != nil {
				continue // of another version
			}
			switch p := payload.(type) {
			case event.TurnEnd:
				if p.PromptID == prompt {
					end, found = p, true
				}
			case event.TurnInterrupted:
				if p.PromptID == prompt {
					cut = p.Reason
				}
			case event.UserPrompt:
				if p.PromptID != prompt {
					continue
				}
				if !found {
					return end, "", ErrNoEnd
				}
				return end, cut, nil
			}
		}
		switch {
		case len(page.Events) > 0 && page.HasMore:
			before = page.FirstSeq
		case found:
			return end, cut, nil
		default:
			return end, "", ErrNoEnd
		}
	}
}

// Complete lists the paths of a session's workspace that match what was typed, the best
// first.
func (h *Hub) Complete(ctx context.Context, id, typed string) (wire.Completions, error) {
	var found wire.Completions
	err := h.do(ctx, http.MethodGet, session(id)+"/complete?q="+url.QueryEscape(typed), nil, &found)
	return found, err
}
