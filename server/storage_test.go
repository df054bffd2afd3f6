package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// A clean-up that is misspelt, or about an empty list of sessions, puts nothing away.
func TestACleanUpDoesNoMoreThanWasMeant(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	require.NoError(t, s.End(t.Context(), "done", event.Actor{Name: "ann"}))
	for _, body := range []map[string]any{
		{"dryRun": true, "older_than": "0s"},
		{"older_than": "0s", "session_ids": []string{}},
	} {
		require.Equal(t, http.StatusBadRequest, h.api("POST", "/api/storage/clean", body).status, body)
		require.Equal(t, http.StatusOK, h.api("GET", "/api/sessions/"+s.ID(), nil).status)
	}
	require.Equal(t, http.StatusOK, h.api("POST", "/api/storage/clean", map[string]any{"session_ids": []string{s.ID()}}).status)
	require.Equal(t, http.StatusNotFound, h.api("GET", "/api/sessions/"+s.ID(), nil).status)
}
