package client

import (
	"context"
	"net/http"

	"github.com/abidehub/abide/server/wire"
)

// Interruption asks for the interruption of a session that no person has settled.
// Without one the hub answers 404.
func (h *Hub) Interruption(ctx context.Context, id string) (wire.Offer, error) {
	var open wire.Offer
	err := h.do(ctx, http.MethodGet, session(id)+"/interruption", nil, &open)
	return open, err
}

// Resume settles an interruption by going on. A *RefusedError with Needs names the
// warnings to confirm first.
func (h *Hub) Resume(ctx context.Context, id string, r wire.Resume) (wire.Resumed, error) {
	var resumed wire.Resumed
	err := h.do(ctx, http.MethodPost, session(id)+"/resume", r, &resumed)
	return resumed, err
}

// Dismiss settles an interruption by leaving it.
func (h *Hub) Dismiss(ctx context.Context, id, interruption string) error {
	return h.do(ctx, http.MethodPost, session(id)+"/dismiss", wire.Dismiss{InterruptionID: interruption}, nil)
}
