package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

type recordingMade struct {
	SessionID  string    `json:"session_id"`
	Epoch      string    `json:"epoch"`
	RecorderID string    `json:"recorder_id"`
	MaxSeq     event.Seq `json:"max_seq"`
}

func TestAProgramRecordsASessionThatEveryScreenSeesLive(t *testing.T) {
	h := startHub(t, hubOptions{})
	var made recordingMade
	res := h.api("POST", "/api/sessions", map[string]any{"recorder": true, "agent": "other", "workspace": t.TempDir(), "name": "Elsewhere"})
	require.Equal(t, 201, res.status, res.body)
	res.decode(t, &made)
	s := mustSession(t, h, made.SessionID)
	require.Equal(t, s.Log().Epoch(), made.Epoch)
	one := "/api/sessions/" + made.SessionID
	screen := h.dial(one + "/ws")

	batch := map[string]any{"recorder_id": made.RecorderID, "after_seq": made.MaxSeq, "events": []map[string]any{
		{"type": "user_prompt", "data": map[string]string{"prompt_id": "p1", "text": "hi", "actor": "hub"}},
		{"type": "agent_message", "data": map[string]string{"message_id": "m1", "text": "hello"}},
	}}
	for range 2 { // the first response was lost
		res = h.api("POST", one+"/record", batch)
		require.Equal(t, 200, res.status, res.body)
		require.JSONEq(t, `{"max_seq":4}`, res.body)
	}
	find(screen, func(m *wire.State) bool { return m.Turn.State == state.TurnPrompting })
	require.Equal(t, 409, h.api("POST", one+"/prompt", map[string]string{"prompt_id": "x", "text": "me"}).status)
	require.Equal(t, 409, h.api("POST", one+"/record", map[string]any{"recorder_id": "guess"}).status)
	collaborator := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: made.SessionID}))
	require.Equal(t, http.StatusForbidden, h.do("POST", one+"/record", batch, collaborator).status)

	end := map[string]string{"recorder_id": made.RecorderID, "reason": "exit 0"}
	for range 2 {
		require.Equal(t, 200, h.api("POST", one+"/record/end", end).status)
	}
	id := h.idOf(h.token)
	require.JSONEq(t, `{"reason":"exit 0","by":"owner","by_id":"`+id+`"}`, string(h.await(s, 0, event.TypeSessionEnd).Data))
	require.Contains(t, string(h.await(s, 0, event.TypeUserPrompt).Data), `"actor":"hub","by_id":"`+id+`"`, "a recorder cannot speak as the hub")
}

func TestARecordersEventThatNoLogHoldsIsItsOwnMistake(t *testing.T) {
	h := startHub(t, hubOptions{})
	var made recordingMade
	h.api("POST", "/api/sessions", map[string]any{"recorder": true, "agent": "other", "workspace": t.TempDir()}).decode(t, &made)
	many := make(map[string]int)
	for i := range 200_000 {
		many[strconv.Itoa(i)] = i
	}
	for name, e := range map[string]map[string]any{
		"no type":              {"type": "", "data": map[string]string{}},
		"a type of 200 bytes":  {"type": strings.Repeat("x", 200), "data": map[string]string{}},
		"a type of two lines":  {"type": "x\ny", "data": map[string]string{}},
		"no data":              {"type": "other"},
		"data that is a list":  {"type": "other", "data": []int{}},
		"data of many numbers": {"type": "other", "data": many},
	} {
		res := h.api("POST", "/api/sessions/"+made.SessionID+"/record", map[string]any{"recorder_id": made.RecorderID, "after_seq": made.MaxSeq, "events": []any{e}})
		assert.Equal(t, 400, res.status, "%s: %s", name, res.body)
	}
	res := h.api("POST", "/api/sessions/"+made.SessionID+"/record", map[string]any{"recorder_id": made.RecorderID, "after_seq": made.MaxSeq,
		"events": []any{map[string]any{"type": "other", "data": map[string]string{"of": "a later version"}}}})
	require.Equal(t, 200, res.status, res.body)
}
