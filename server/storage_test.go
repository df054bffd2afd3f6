package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// A clean-up that is misspelt, empty, or about an empty list or null puts nothing away, and its
// answer says what to send.
func TestACleanUpDoesNoMoreThanWasMeant(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	require.NoError(t, s.End(t.Context(), "done", event.Actor{Name: "ann"}))
	for body, says := range map[string]string{
		`{"dryRun":true,"older_than":"0s"}`:                     "dryRun",
		`{"older_than":"0s","session_ids":[]}`:                  "leave it out",
		`{"older_than":"0s","session_ids":null}`:                "leave it out",
		`{"older_than":"0s","lifecycles":[]}`:                   "completed",
		`{"older_than":"0s","lifecycles":null}`:                 "leave it out",
		`{"older_than":"0s","lifecycles":[null]}`:               "completed",
		`{"older_than":null,"lifecycles":["completed"]}`:        "leave it out",
		`{"older_than":"0s","lifecycles":["completed","gone"]}`: "completed",
		`null`:  "dry_run",
		``:      "dry_run",
		`[]`:    "cannot be read",
		`false`: "cannot be read",
	} {
		var sent any
		if body != "" {
			sent = json.RawMessage(body)
		}
		answer := h.api("POST", "/api/storage/clean", sent)
		require.Equal(t, http.StatusBadRequest, answer.status, body)
		require.Contains(t, answer.body, says, body)
		require.Equal(t, http.StatusOK, h.api("GET", "/api/sessions/"+s.ID(), nil).status)
	}
	require.Equal(t, http.StatusOK, h.api("POST", "/api/storage/clean", map[string]any{"session_ids": []string{s.ID()}}).status)
	require.Equal(t, http.StatusNotFound, h.api("GET", "/api/sessions/"+s.ID(), nil).status)
}
