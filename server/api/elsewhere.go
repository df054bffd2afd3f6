package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
)

// elsewhere returns the machine that has the session in a request's path, if a machine runs
// the request.
func (s *API) elsewhere(rt route, c *call) (machine string, elsewhere bool) {
	id, ofSession := mux.Vars(c.r)["id"]
	if !ofSession || !mayRunElsewhere(rt) {
		return "", false
	}
	m, _, known := s.machines.Of(id)
	return m.ID, known
}

// mayRunElsewhere reports whether home may have a machine run a route. What is not named here
// concerns the machine itself: its devices, tokens, agents, places for messages and
// configuration.
func mayRunElsewhere(rt route) bool {
	if slices.Contains([]string{one + "/ws", one + "/blobs/{sha256}/address", one + "/export/address", one + "/authenticate", one + "/record", one + "/record/end"}, rt.path) {
		return false
	}
	return rt.path == one || strings.HasPrefix(rt.path, one+"/") || strings.HasPrefix(rt.path, "/api/jobs/{id}")
}

// callMachine runs a request by the handlers of a machine.
func (s *API) callMachine(c *call, machine string) error {
	// The bounds of a request's body and its answer are for what this hub does itself; here
	// silence ends the call.
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	return s.machines.Call(c.w, c.r, machine, CallerOf(c.grant))
}

// CallerOf is the holder of a grant as a machine learns it.
func CallerOf(g auth.Grant) machines.Caller {
	return machines.Caller{ID: g.By().ID, Name: g.Actor(), Scope: string(g.Scope), SessionID: g.SessionID}
}

// GrantOfHome is the grant of a call from home: at most what the machine allows.
func GrantOfHome(by machines.Caller, allow machines.Allow) auth.Grant {
	scope, known := auth.ParseScope(by.Scope)
	most := allow.Scope()
	switch {
	case !known:
		scope = auth.Viewer
	case most == auth.Viewer, most == auth.Collaborator && scope == auth.Owner:
		scope = most
	}
	return auth.Grant{ID: "home:" + by.ID, Kind: auth.KindToken, Name: by.Name, Scope: scope, SessionID: by.SessionID}
}
