package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
)

// Whoever owns home says every message to a session of a machine: the machine's allowance holds.
func TestNoMessageOfHomeIsAboveWhatTheMachineAllows(t *testing.T) {
	needs := messageNeeds()
	for allow, most := range map[string]need{"read": read, "act": act} {
		home, machine := joined(t, allow)
		there := machine.session()
		listed(t, home, "", 1)
		before := there.Log().Marks().Visible
		socket := home.dial("/api/ws")
		refused := 0
		for _, message := range wire.ClientMessages() {
			kind := message.MessageType()
			if needs[kind] <= most {
				continue
			}
			frame, err := json.Marshal(map[string]any{
				"type": kind, "request_id": kind, "session_id": there.ID(), "prompt_id": "p", "text": "say x", "permission_id": "p", "option_id": "o", "mode_id": "m", "config_id": "c", "value": "v", "method_id": "m",
			})
			require.NoError(t, err)
			socket.sendRaw(string(frame))
			e := find(socket, func(e *wire.Error) bool { return e.RequestID == kind })
			require.Equal(t, wire.CodeForbidden, e.Code, "%s where %s is allowed: %s", kind, allow, e.Message)
			refused++
		}
		require.GreaterOrEqual(t, refused, 3)
		require.Equal(t, before, there.Log().Marks().Visible, "nothing happened in the session")
		require.Empty(t, there.Shown().Queue)
	}
}

// Home may not reach what is not a session's by another way of writing an address.
func TestNoTrickOfAnAddressLeadsHomeElsewhere(t *testing.T) {
	home, machine := joined(t, "manage")
	there := machine.session()
	one := "/api/sessions/" + there.ID()
	before := len(machine.registry.Grants())
	for _, target := range []string{
		one + "/../../tokens", one + "/../../../api/tokens", one + "/%2e%2e/%2e%2e/tokens", one + "%2f..%2f..%2ftokens", one + "/..%2f..%2ftokens", one + "/..;/..;/tokens",
		one + "\\..\\..\\tokens", one + "/.././../tokens", "/api/sessions/../tokens", "/api/sessions//../tokens", "//api/tokens", "/api//tokens", "/./api/tokens", "/api/tokens", "/api/tokens?id=" + there.ID(),
		"/api/tokens?path=" + one, "/api/tokens#" + one, "/api/tokens/", "/api/tokens/" + one, "/API/tokens", "/api/devices", "/api/machines", "/api/home", "/api/machine", "/api/pair", "/api/audit",
		"/api/config", "/api/openapi.json", "/api/health", "/api/ws", one + "/ws", "/", "/index.html", "/api", "/metrics", "/api/search?q=x", "/api/trash", "/api/storage/clean", "/api/agents/demo",
		"/api/sessions/" + url.PathEscape("../tokens"), "/api/sessions/" + url.PathEscape("../../../../etc/passwd"), "/api/sessions/" + url.PathEscape(there.ID()+"/../x"), "/api/sessions/%00", one + "/files/../../../tokens", one + "/blobs/../../../tokens",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "PATCH", "PUT", "CONNECT", "OPTIONS"} {
			r := httptest.NewRequest("POST", "/", nil)
			r.Method, r.URL = method, &url.URL{Opaque: target}
			if len(target) > 1 && target[:2] == "//" {
				r.URL = &url.URL{Path: target, RawPath: target}
			}
			w := httptest.NewRecorder()
			if err := home.machines.Call(w, r, machine.store.HubID(), machines.Caller{ID: "x", Name: "ann", Scope: string(auth.Owner)}); err != nil {
				require.ErrorIs(t, err, machines.ErrOpen, "%s %s", method, target)
				continue
			}
			require.Contains(t, []int{400, 403, 404, 405}, w.Code, "%s %s: %s", method, target, w.Body)
		}
	}
	require.Len(t, machine.registry.Grants(), before)
	require.Equal(t, http.StatusOK, machine.do("GET", one, nil, bearer(machine.token)).status)
}

// A machine's session is no way to a session of another one, or of home.
func TestACallForASessionOfAnotherIsTheirs(t *testing.T) {
	home, machine := joined(t, "manage")
	here, there := home.session(), machine.session()
	listed(t, home, "", 2)
	by := machines.Caller{ID: "x", Name: "ann", Scope: string(auth.Collaborator), SessionID: there.ID()}
	call := func(by machines.Caller, id string) int {
		w := httptest.NewRecorder()
		require.NoError(t, home.machines.Call(w, httptest.NewRequest("GET", "/api/sessions/"+id, nil), machine.store.HubID(), by))
		return w.Code
	}
	require.Equal(t, http.StatusOK, call(by, there.ID()))
	require.Equal(t, http.StatusForbidden, call(by, machine.session().ID()), "who may see one session at home sees one there")
	by.SessionID = ""
	require.Equal(t, http.StatusNotFound, call(by, here.ID()), "a session of home is not the machine's")
	by.Scope = "superuser"
	w := httptest.NewRecorder()
	require.NoError(t, home.machines.Call(w, httptest.NewRequest("POST", "/api/sessions/"+there.ID()+"/cancel", nil), machine.store.HubID(), by))
	require.Equal(t, http.StatusForbidden, w.Code, "an unknown scope is a viewer's")
}
