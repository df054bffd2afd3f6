package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

func (h *hub) audit(after string) []audit.Record {
	h.t.Helper()
	var page struct{ Records []audit.Record }
	res := h.api("GET", "/api/audit?after="+after, nil)
	require.Equal(h.t, 200, res.status, res.body)
	res.decode(h.t, &page)
	return page.Records
}

func TestGrantsAnswersDeletionsAndRefusalsAreInTheAuditTrail(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.page("a phone", nil)
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "ask"})
	find(p, func(m *wire.State) bool { return len(m.PendingPermissions) == 1 })
	p.send(&wire.PermissionAnswer{RequestID: "a", SessionID: s.ID(), PermissionID: s.State().PendingPermissions[0], OptionID: "yes", Remember: state.RuleAgent})
	find[*wire.PermissionResolved](p, nil)
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+s.ID()+"/rules/"+h.rules(s)[0].ID, nil).status)
	other := h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "other"})
	var mine auth.Grant
	for _, g := range h.registry.Grants() {
		if g.Name == "other" {
			require.Equal(t, 200, h.api("PATCH", "/api/devices/"+g.ID, map[string]string{"name": "another"}).status)
			require.Equal(t, 204, h.api("DELETE", "/api/devices/"+g.ID, nil).status)
		} else if g.Name == "owner" {
			mine = g
		}
	}
	require.Equal(t, 401, h.do("GET", "/api/health", nil, http.Header{"Authorization": {"Bearer " + other}}).status)
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+s.ID(), nil).status)

	all := h.audit("0")
	var verbs []audit.Verb
	for _, r := range all {
		verbs = append(verbs, r.Verb)
		require.Equal(t, "127.0.0.1", r.Peer)
		require.NotContains(t, r.Detail, other)
		if r.Verb != audit.DevicePaired && r.Verb != audit.SignInFailed {
			require.Equal(t, "owner", r.By)
			require.Equal(t, mine.ID, r.ByID)
		}
	}
	require.Equal(t, []audit.Verb{
		audit.DevicePaired, audit.PermissionAnswer, audit.RuleAdded, audit.RuleRevoked, audit.AccessRenamed,
		audit.AccessRevoked, audit.SignInFailed, audit.SessionDeleted,
	}, verbs)
	require.Equal(t, s.ID(), all[7].SessionID)
	require.Len(t, h.audit("7"), 1)

	viewer := h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})
	require.Equal(t, 403, h.do("GET", "/api/audit", nil, http.Header{"Authorization": {"Bearer " + viewer}}).status)
	require.Equal(t, 400, h.api("GET", "/api/audit?after=x", nil).status)
}

// Fault 86 of the fault list.
func TestFault86NoCredentialGoesByAReservedName(t *testing.T) {
	h := startHub(t, hubOptions{})
	for _, name := range []string{"hub", "HUB", " agent ", "device:1", "token:1", "h\u200bub"} {
		_, _, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: name})
		require.ErrorIs(t, err, auth.ErrInvalid, name)
	}
	h.page("hub", nil)
	for _, g := range h.registry.Grants() {
		require.NotEqual(t, "hub", g.Actor())
		require.Equal(t, 400, h.api("PATCH", "/api/devices/"+g.ID, map[string]string{"name": "agent"}).status)
	}
}
