package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

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

func TestACollaboratorThatDropsWaitingPromptsIsInTheAuditTrail(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	guest := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID(), Name: "guest"}))
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p0", Text: "ask"})
	find(p, func(m *wire.State) bool { return len(m.PendingPermissions) == 1 })
	queue := func(ids ...string) {
		for _, id := range ids {
			require.Equal(t, 202, h.api("POST", "/api/sessions/"+s.ID()+"/queue", map[string]string{"prompt_id": id, "text": "later"}).status)
		}
	}
	queue("p1", "p2", "p3")
	require.Equal(t, 204, h.do("DELETE", "/api/sessions/"+s.ID()+"/queue/p2", nil, guest).status)
	require.Equal(t, 204, h.do("DELETE", "/api/sessions/"+s.ID()+"/queue", nil, guest).status)
	require.Equal(t, 204, h.do("DELETE", "/api/sessions/"+s.ID()+"/queue", nil, guest).status, "it is empty")
	queue("p4", "p5")
	p.send(&wire.QueueRemove{RequestID: "q", SessionID: s.ID(), PromptID: "p4"})
	find(p, func(m *wire.State) bool { return len(m.Queue) == 1 })
	p.send(&wire.QueueClear{RequestID: "c", SessionID: s.ID()})
	find(p, func(m *wire.State) bool { return len(m.Queue) == 0 })
	var left []string
	require.Eventually(t, func() bool { // a socket is not answered
		left = nil
		for _, r := range h.audit("0") {
			left = append(left, fmt.Sprintf("%s %s %s", r.By, r.Verb, r.Detail))
			require.Equal(t, s.ID(), r.SessionID)
		}
		return len(left) == 4
	}, patience, 5*time.Millisecond)
	require.Equal(t, []string{"guest prompt_removed p2", "guest queue_cleared 2", "owner prompt_removed p4", "owner queue_cleared 1"}, left)
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
