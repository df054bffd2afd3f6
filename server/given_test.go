package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
)

// A request from within the program has its grant with it: it may what the grant may, and ends
// with it. Its credential and its host do not count.
func TestARequestMayBringItsGrant(t *testing.T) {
	h := startHub(t, hubOptions{})
	one, other := h.session(), h.session()
	var over atomic.Bool
	call := func(scope auth.Scope, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://elsewhere"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		grant := auth.Grant{ID: "m1", Kind: auth.KindToken, Name: "of home", Scope: scope, SessionID: one.ID()}
		w := httptest.NewRecorder()
		h.server.ServeGiven(w, r, api.Given{Grant: grant, Now: func() (auth.Grant, error) {
			if over.Load() {
				return auth.Grant{}, errors.New("it ended")
			}
			return grant, nil
		}})
		return w
	}
	prompt := `{"prompt_id":"p1","text":"say 1"}`
	for _, row := range []struct {
		scope        auth.Scope
		method, path string
		body         string
		status       int
	}{
		{auth.Viewer, "GET", "/api/sessions/" + one.ID(), "", http.StatusOK},
		{auth.Viewer, "GET", "/api/sessions/" + one.ID() + "/events", "", http.StatusOK},
		{auth.Viewer, "GET", "/api/sessions/" + other.ID(), "", http.StatusForbidden},
		{auth.Viewer, "POST", "/api/sessions/" + one.ID() + "/prompt", prompt, http.StatusForbidden},
		{auth.Collaborator, "POST", "/api/sessions/" + one.ID() + "/prompt", prompt, http.StatusOK},
		{auth.Collaborator, "POST", "/api/sessions/" + other.ID() + "/prompt", prompt, http.StatusForbidden},
	} {
		got := call(row.scope, row.method, row.path, row.body)
		require.Equal(t, row.status, got.Code, "%v: %s", row, got.Body)
	}
	var list wire.SessionPage
	require.NoError(t, json.Unmarshal(call(auth.Viewer, "GET", "/api/sessions", "").Body.Bytes(), &list))
	require.Len(t, list.Sessions, 1)
	require.Equal(t, http.StatusMisdirectedRequest, func() int {
		w := httptest.NewRecorder()
		h.server.ServeHTTP(w, httptest.NewRequest("GET", "http://elsewhere/api/sessions", nil))
		return w.Code
	}())
	over.Store(true)
	require.Equal(t, http.StatusUnauthorized, call(auth.Viewer, "GET", "/api/sessions", "").Code)
}
