package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
)

// TestNoClientNamesAnythingLikeTheHub walks all operations that take an id from a client.
func TestNoClientNamesAnythingLikeTheHub(t *testing.T) {
	const own = "abide/past-1"
	h := startHub(t, hubOptions{})
	calls, _ := everyCall(t, h)
	doc := readDoc(t, h)
	walked := map[string]bool{}
	for _, c := range calls {
		named := false
		for _, p := range doc.Paths[c.route][strings.ToLower(c.method)].Parameters {
			named = named || p.Name == "Idempotency-Key"
		}
		if !named {
			continue
		}
		walked[c.route] = true
		header := bearer(h.token)
		header.Set("Idempotency-Key", own)
		body, _ := c.body.(map[string]string)
		delete(body, "prompt_id")
		res := h.do(c.method, c.path, c.body, header)
		require.Equal(t, http.StatusBadRequest, res.status, "%s: %s", c.route, res.body)
		require.Contains(t, res.body, "hub's own", c.route)
		if c.route == "/api/sessions/{id}/prompt" || c.route == "/api/sessions/{id}/queue" {
			res := h.do(c.method, c.path, map[string]string{"prompt_id": own, "text": "hi"}, bearer(h.token))
			require.Equal(t, http.StatusBadRequest, res.status, "%s: %s", c.route, res.body)
		}
	}
	require.Greater(t, len(walked), 4, "%v", walked)

	s := h.session()
	require.Equal(t, 400, h.do("POST", "/api/sessions", map[string]any{"agent": "a program", "workspace": t.TempDir(), "recorder": true}, http.Header{"Authorization": {"Bearer " + h.token}, "Idempotency-Key": {own}}).status)
	p := h.dial("/api/ws")
	p.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: own, Text: "hi"})
	require.Equal(t, wire.CodeInvalid, find[*wire.Error](p, nil).Code)
	p.send(&wire.QueueMove{RequestID: "r", SessionID: s.ID(), PromptID: own})
	require.Equal(t, wire.CodeNotFound, find[*wire.Error](p, nil).Code, "it names what is there, and nothing is")
}

// TestAPatchChangesAllThatItNamesOrNothing walks the patches.
func TestAPatchChangesAllThatItNamesOrNothing(t *testing.T) {
	h := startHub(t, hubOptions{})
	calls, _ := everyCall(t, h)
	walked := 0
	for _, c := range calls {
		if c.method != "PATCH" {
			continue
		}
		walked++
		body := map[string]any{"session_id": "other"}
		require.Equal(t, 400, h.api("PATCH", c.path, body).status, c.route)
		data, err := json.Marshal(c.body)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &body))
		require.Equal(t, 400, h.api("PATCH", c.path, body).status, c.route)
		require.Equal(t, 400, h.api("PATCH", c.path, map[string]any{}).status, c.route)
		res := h.api("PATCH", c.path, c.body)
		require.Equal(t, 200, res.status, "%s: %s", c.route, res.body)
	}
	require.Equal(t, 5, walked)
}

// TestThePlaceOfACommentStays has a patch of each part of a place.
func TestThePlaceOfACommentStays(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	comments := "/api/sessions/" + s.ID() + "/comments"
	made := h.api("POST", comments, map[string]any{"from_seq": 1, "path": "a.go", "line": 3, "text": "why?"})
	require.Equal(t, 201, made.status, made.body)
	var c wire.Comment
	made.decode(t, &c)
	for name, value := range map[string]any{"from_seq": 1, "to_seq": 1, "path": "b.go", "line": 4, "end_line": 5, "side": "old", "quote": "x"} {
		res := h.api("PATCH", comments+"/"+c.CommentID, map[string]any{name: value, "text": "changed"})
		require.Equal(t, 400, res.status, name)
		require.Contains(t, res.body, "this cannot be changed", name)
	}
	require.Equal(t, 400, h.api("PATCH", comments+"/"+c.CommentID, map[string]any{}).status)
	require.Contains(t, h.api("GET", comments, nil).body, `"text":"why?"`)
	for _, line := range []int{-1, 10_000_001, 1 << 60} {
		require.Equal(t, 400, h.api("POST", comments, map[string]any{"from_seq": 1, "path": "a.go", "line": line, "text": "why?"}).status, line)
		require.Equal(t, 400, h.api("POST", comments, map[string]any{"from_seq": 1, "path": "a.go", "line": 1, "end_line": line, "text": "why?"}).status, line)
	}
}
