package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// idOf returns the id of a token's credential.
func (h *hub) idOf(token string) string {
	h.t.Helper()
	grant, err := h.registry.Present(auth.KindToken, token)
	require.NoError(h.t, err)
	return grant.ID
}

// Two credentials with the same name perform every action that leaves a record.
func TestEveryRecordHasTheIDOfItsCredential(t *testing.T) {
	h := startHub(t, hubOptions{})
	first := h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "pat"})
	second := h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "pat"})
	pat, other := h.idOf(first), h.idOf(second)
	do := func(token string, status int, method, path string, body any) response {
		header := bearer(token)
		if strings.HasSuffix(path, "/sessions") || strings.HasSuffix(path, "/comments") {
			header.Set("Idempotency-Key", "key")
		}
		res := h.do(method, path, body, header)
		require.Equal(t, status, res.status, "%s %s: %s", method, path, res.body)
		return res
	}
	var made, others wire.SessionInfo
	create := map[string]string{"agent": "puppet", "prompt": "hold"}
	do(first, 201, "POST", "/api/sessions", create).decode(t, &made)
	do(second, 201, "POST", "/api/sessions", map[string]string{"agent": "puppet"}).decode(t, &others)
	require.NotEqual(t, made.SessionID, others.SessionID, "two credentials share a creation key")
	do(first, 201, "POST", "/api/sessions", create).decode(t, &others)
	require.Equal(t, made.SessionID, others.SessionID)

	path := "/api/sessions/" + made.SessionID
	s, err := h.manager.Session(t.Context(), made.SessionID)
	require.NoError(t, err)
	idle := func() {
		require.Eventually(t, func() bool { return s.State().Turn.State == session.TurnIdle }, patience, patience/1000)
	}
	h.await(s, 0, event.TypeTurnStart)
	do(second, 202, "POST", path+"/queue", map[string]string{"prompt_id": "waits", "text": "ask"})
	var queued struct{ Queue []wire.QueueItem }
	do(first, 200, "GET", path+"/queue", nil).decode(t, &queued)
	require.Equal(t, other, queued.Queue[0].ByID)
	do(second, 204, "POST", path+"/cancel", nil)

	h.await(s, 0, event.TypePermissionRequest)
	do(second, 200, "POST", path+"/permissions/perm-1", map[string]string{"option_id": "yes", "remember": "session"})
	idle()
	do(first, 204, "DELETE", path+"/rules/"+h.rules(s)[0].ID, nil)
	p := h.dialAs("/api/ws", bearer(second))
	p.send(&wire.SetMode{RequestID: "m", SessionID: s.ID(), ModeID: "code"})
	h.await(s, 0, event.TypeMode)
	do(second, 200, "POST", path+"/prompt", map[string]string{"prompt_id": "fails", "text": "fail"})
	h.await(s, 0, event.TypeTurnInterrupted)
	var offer wire.Offer
	idle()
	do(first, 200, "GET", path+"/interruption", nil).decode(t, &offer)
	do(first, 204, "POST", path+"/dismiss", map[string]string{"interruption_id": offer.InterruptionID})
	do(second, 200, "POST", path+"/end", map[string]string{})
	var remark state.Comment
	do(second, 201, "POST", path+"/comments", map[string]any{"from_seq": 1, "text": "well"}).decode(t, &remark)
	require.Equal(t, other, remark.ByID)

	var records []string
	for _, e := range h.events(s) {
		var data struct {
			By          string `json:"by"`
			Actor       string `json:"actor"`
			CreatedBy   string `json:"created_by"`
			ByID        string `json:"by_id"`
			CreatedByID string `json:"created_by_id"`
			Method      string `json:"method"`
			Raw         struct {
				Rule state.Rule `json:"rule"`
			} `json:"raw"`
		}
		require.NoError(t, json.Unmarshal(e.Data, &data))
		name, id := data.By+data.Actor+data.CreatedBy, data.ByID+data.CreatedByID
		if name == "" {
			require.Empty(t, id, "%s", e.Data)
			continue
		}
		require.Equal(t, "pat", name, "%s", e.Data)
		records = append(records, string(e.Type)+" "+map[string]string{pat: "first", other: "second"}[id])
		if data.Raw.Rule.ID != "" {
			require.Equal(t, other, data.Raw.Rule.CreatedByID)
		}
	}
	require.Equal(t, []string{
		"session_start first", "user_prompt first", "turn_end second",
		"user_prompt second", "permission_outcome second", "note second", "note first", "mode second",
		"user_prompt second", "interruption_settled first", "session_end second",
	}, records)
}
