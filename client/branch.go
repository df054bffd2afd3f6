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

// UpdateBranch brings the base's commits to the session's branch.
func (h *Hub) UpdateBranch(ctx context.Context, id, key string, u wire.UpdateBranch) (wire.BranchAct, error) {
	return h.actOnBranch(ctx, id, "update", key, u)
}

// PullRequest makes a pull request of the session's branch, or returns the page that does.
func (h *Hub) PullRequest(ctx context.Context, id, key string, p wire.MakePullRequest) (wire.PullRequestPage, error) {
	var page wire.PullRequestPage
	err := h.send(ctx, http.MethodPost, session(id)+"/branch/pull-request", http.Header{"Idempotency-Key": {key}}, p, &page)
	return page, err
}

// DiscardBranch removes the session's own working copy and its branch.
func (h *Hub) DiscardBranch(ctx context.Context, id string, d wire.DiscardBranch) error {
	return h.do(ctx, http.MethodPost, session(id)+"/branch/discard", d, nil)
}

// Push pushes the session's branch.
func (h *Hub) Push(ctx context.Context, id, key string, p wire.PushBranch) (wire.BranchAct, error) {
	return h.actOnBranch(ctx, id, "push", key, p)
}

// MergeBranch brings the commits of the session's branch to its base.
func (h *Hub) MergeBranch(ctx context.Context, id, key string, m wire.MergeBranch) (wire.BranchAct, error) {
	return h.actOnBranch(ctx, id, "merge", key, m)
}
