package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
)

// route is one HTTP route: its gate, its verb and its handler. Authorisation and
// documentation are derived from it.
type route struct {
	method, path string
	gate         auth.Gate
	// verb is the verb that the credential must have, for the session in the path
	// if there is one. It is used only with gate Credential.
	verb auth.Verb
	// filtered routes check the grant themselves, for each object they return.
	filtered bool
	handle   func(*API, *call) error
	doc      doc
}

func (r route) methods() []string {
	if r.method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{r.method}
}

// cost is a class of requests that take turns.
type cost int

const (
	cheap        cost = iota
	computing         // search, previews, git, an agent asked for its sessions
	transferring      // exports, imports, adoptions
	costs
)

// costOf returns the class of a request.
func costOf(rt route, r *http.Request) cost {
	switch rt.path {
	case "/api/import", "/api/sessions/{id}/export", "/api/agents/{name}/adopt":
		return transferring
	case "/api/search", "/api/usage", "/api/agents/{name}/sessions", "/api/sessions/{id}/complete", "/api/sessions/{id}/snapshot", "/api/sessions/{id}/changes", "/api/sessions/{id}/change", "/api/sessions/{id}/branch/commit", "/api/sessions/{id}/branch/update", "/api/sessions/{id}/branch/merge":
		return computing
	case "/api/sessions/{id}/blobs/{sha256}":
		if r.URL.Query().Get("preview") == "true" {
			return computing
		}
	}
	return cheap
}

// doc is a route's documentation for openapi.json, besides its path and its gate.
type doc struct {
	summary string
	query   []param
	// headers the request may carry.
	headers []param
	// in and out are zero values of the bodies; nil means none.
	in, out any
	// raw says that the body is bytes, which the handler reads as they come.
	raw bool
	// status is the status of success, and repeated that of a repeated request, if it is
	// another.
	status, repeated int
	// stream is the media type of an alternative response.
	stream string
}

// param is a parameter of a route.
type param struct {
	name, about string
	// value is a zero value of its type.
	value any
}

// one is the path of a session.
const one = "/api/sessions/{id}"

// section is the routes of one resource.
type section struct {
	title string
	// about are paragraphs about more than one route, or too long for a cell.
	about []string
	rows  []route
}
