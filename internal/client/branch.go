package client

import (
	"context"
	"net/http"

	"github.com/abidehub/abide/server/wire"
)

// Commit commits files on the session's branch. The same key again changes nothing.
func (h *Hub) Commit(ctx context.Context, id, key string, c wire.CommitBranch) (wire.BranchAct, error) {
	return h.actOnBranch(ctx, id, "commit", key, c)
}

func (h *Hub) actOnBranch(ctx context.Context, id, act, key string, body any) (wire.BranchAct, error) {
	var done wire.BranchAct
	err := h.send(ctx, http.MethodPost, session(id)+"/branch/"+act, http.Header{"Idempotency-Key": {key}}, body, &done)
	return done, err
}
