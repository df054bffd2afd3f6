package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/abidehub/abide/server/wire"
)

// SetMode changes the mode of a session's agent, and waits until it took it.
func (h *Hub) SetMode(ctx context.Context, id, mode string) error {
	return h.do(ctx, http.MethodPost, session(id)+"/mode", wire.ChosenMode{ModeID: mode}, nil)
}

// SetOption changes an option of a session's agent to a string or a boolean, and waits
// until it took it.
func (h *Hub) SetOption(ctx context.Context, id, option string, value any) error {
	return h.do(ctx, http.MethodPost, session(id)+"/option", wire.ChosenOption{ConfigID: option, Value: value}, nil)
}

// Restart stops the agent of a session and starts it again.
func (h *Hub) Restart(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodPost, session(id)+"/restart", nil, nil)
}

// ForceReset ends a turn whose agent does not answer.
func (h *Hub) ForceReset(ctx context.Context, id string) error {
	return h.do(ctx, http.MethodPost, session(id)+"/force-reset", nil, nil)
}

// Authenticate logs the agent of a session in, and waits until it is ready.
func (h *Hub) Authenticate(ctx context.Context, id, method string) error {
	return h.do(ctx, http.MethodPost, session(id)+"/authenticate", wire.Login{MethodID: method}, nil)
}

// AddRule makes a permission rule.
func (h *Hub) AddRule(ctx context.Context, id string, r wire.NewRule) (wire.Rule, error) {
	var rule wire.Rule
	err := h.do(ctx, http.MethodPost, session(id)+"/rules", r, &rule)
	return rule, err
}

// RevokeRule takes a permission rule back.
func (h *Hub) RevokeRule(ctx context.Context, id, rule string) error {
	return h.do(ctx, http.MethodDelete, session(id)+"/rules/"+url.PathEscape(rule), nil, nil)
}

// Audit returns the records of the audit trail behind one, oldest first.
func (h *Hub) Audit(ctx context.Context, after int64) (wire.AuditPage, error) {
	var page wire.AuditPage
	err := h.do(ctx, http.MethodGet, "/api/audit?after="+strconv.FormatInt(after, 10), nil, &page)
	return page, err
}
