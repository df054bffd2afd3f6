package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
)

// need is the least right that a route or a message requires.
type need int

const (
	open    need = iota // the hub's Host
	ownPage             // and the page's Origin
	any_                // and a valid credential
	read                // that may read the session
	act                 // that may act in it
	manage              // that may manage it
	owner               // that may manage the hub
	machine             // or of a machine: none of these
)

// routeNeeds has a row for each route. A registered route without a row fails the
// test.
func routeNeeds() map[string]need {
	const one = "/api/sessions/{id}"
	return map[string]need{
		"GET /api/ready": open, "GET /": open, "GET /index.html": open, "GET /s/x": open, "GET /missing.js": open,
		"POST /api/pair": ownPage, "POST /api/answer": ownPage,
		"GET /api/push": any_, "POST /api/push/subscriptions": any_, "DELETE /api/push/subscriptions/{subscription}": any_,
		"POST /api/push/subscriptions/{subscription}/test": any_, "GET /api/channels": owner, "PUT /api/channels/{channel}": owner,
		"POST /api/channels/{channel}/test": owner,
		"POST /api/page":                    ownPage,
		"GET /api/health":                   any_, "GET /api/openapi.json": any_, "GET /api/search": any_, "GET /api/usage": any_, "GET /api/sessions": any_,
		"GET /api/ws": any_, "GET /api/nothing": any_,
		"GET " + one: read, "GET " + one + "/events": read, "GET " + one + "/blobs/{sha256}": read,
		"POST " + one + "/blobs/{sha256}/address": read, "GET " + one + "/queue": read,
		"GET " + one + "/state": read, "GET " + one + "/queue/{prompt}": read, "GET " + one + "/ws": read,
		"POST " + one + "/prompt": act, "POST " + one + "/cancel": act, "POST " + one + "/force-reset": act,
		"POST " + one + "/permissions/{permission}": act, "POST " + one + "/restart": act,
		"POST " + one + "/attachments": act, "GET " + one + "/rules": act, "POST " + one + "/queue": act,
		"DELETE " + one + "/queue": act, "PATCH " + one + "/queue/{prompt}": act, "DELETE " + one + "/queue/{prompt}": act,
		"GET " + one + "/overview": read, "GET " + one + "/snapshot": read, "GET " + one + "/comments": read, "POST " + one + "/comments": act, "GET " + one + "/export": act,
		"POST " + one + "/export/address": act, "PATCH " + one + "/comments/{comment}": act, "DELETE " + one + "/comments/{comment}": act,
		"GET " + one + "/interruption": read, "POST " + one + "/resume": act, "POST " + one + "/pause": act, "POST " + one + "/dismiss": act,
		"POST " + one + "/record": manage, "POST " + one + "/record/end": manage,
		"PATCH " + one: manage, "DELETE " + one: manage, "POST " + one + "/reopen": manage, "POST " + one + "/end": manage,
		"POST " + one + "/authenticate": manage, "POST " + one + "/mode": manage, "POST " + one + "/option": manage, "POST " + one + "/rules": manage, "DELETE " + one + "/rules/{rule}": manage,
		"GET /api/devices": owner, "POST /api/devices/seen": owner, "PATCH /api/devices/{device}": owner, "DELETE /api/devices/{device}": owner,
		"GET /api/machines": owner, "POST /api/machines/links": owner, "PATCH /api/machines/{machine}": owner, "DELETE /api/machines/{machine}": owner, "POST /api/home": owner, "DELETE /api/home": owner,
		"POST /api/machines/join": open, "GET /api/machine": machine,
		"POST /api/pairings":              owner,
		"GET /api/agents/{name}/sessions": owner, "POST /api/agents/{name}/adopt": owner, "GET /api/agents/setup": owner, "POST /api/agents": owner, "POST /api/agents/{name}/check": owner, "POST /api/agents/{name}/login": owner,
		"GET /api/agents/{name}/login": owner, "DELETE /api/agents/{name}/login": owner, "POST /api/agents/{name}/login/input": owner, "POST /api/agents/{name}/logout": owner,
		"GET /api/agents": owner, "GET /api/audit": owner, "POST /api/sessions": owner, "POST /api/import": owner, "POST " + one + "/fork": owner,
		"GET " + one + "/files": act, "GET " + one + "/file": act, "GET " + one + "/complete": act, "GET " + one + "/changes": act, "GET " + one + "/change": act, "GET " + one + "/branch": act, "POST " + one + "/branch/commit": act, "POST " + one + "/branch/update": act, "POST " + one + "/branch/merge": manage, "POST " + one + "/branch/push": manage, "POST " + one + "/branch/pull-request": manage, "POST " + one + "/branch/discard": manage,
		"GET " + one + "/undo": act, "POST " + one + "/undo": manage, "POST " + one + "/redo": manage,
		"GET /api/jobs": owner, "POST /api/jobs": owner, "POST /api/jobs/start": owner, "GET /api/jobs/{id}": read, "GET /api/jobs/{id}/events": read, "POST /api/jobs/{id}/cancel": manage, "POST /api/jobs/{id}/retry": owner, "POST /api/jobs/{id}/discard-others": owner,
		"POST /api/schedules": owner, "GET /api/schedules": owner, "GET /api/schedules/{schedule}": owner, "DELETE /api/schedules/{schedule}": owner, "POST /api/schedules/{schedule}/pause": owner, "POST /api/schedules/{schedule}/resume": owner,
		"GET /api/storage": owner, "POST /api/storage/clean": owner,
		"GET /api/trash": owner, "POST /api/trash/{id}/restore": manage, "DELETE /api/trash/{id}": manage,
		"GET /api/worktrees": owner, "POST /api/worktrees/remove": owner, "POST /api/worktrees/prune": owner,
		"GET /api/folders": owner, "POST /api/folders": owner, "GET /api/folder": owner, "POST /api/folder/allow": owner,
	}
}

// messageNeeds has a row for each client message.
func messageNeeds() map[string]need {
	return map[string]need{
		"ping": any_, "observe": read, "unobserve": read, "load_events": read, "ack": read, "presence": read,
		"prompt": act, "permission_answer": act, "cancel": act, "force_reset": act, "resume": act, "dismiss": act, "restart_agent": act,
		"queue_edit": act, "queue_move": act, "queue_remove": act, "queue_clear": act,
		"authenticate": manage, "set_mode": manage, "set_config_option": manage,
	}
}

// ghost is the id of a session that does not exist, so an allowed request changes
// nothing.
const ghost = "20260221-140307-00000000"

// presented is a credential and its rights.
type presented struct {
	name   string
	header http.Header
	good   bool // false: the status is 401
	most   need // its rights in the ghost session; owner: in every session
	other  bool // restricted to another session
	cookie bool
}

func (p presented) may(n need) bool { return n <= any_ || !p.other && n <= p.most }

func credentials(t *testing.T, h *hub, clock *atomic.Int64) []presented {
	t.Helper()
	token := func(scope auth.Scope, session string) http.Header {
		return bearer(h.mint(auth.TokenRequest{Scope: scope, SessionID: session}))
	}
	revoked, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Owner})
	require.NoError(t, err)
	require.NoError(t, h.registry.Revoke(grant.ID))
	expired := h.mint(auth.TokenRequest{Scope: auth.Owner, Life: time.Second})
	clock.Add(int64(2 * time.Second))
	page := h.page("page", nil)
	cookie := http.Header{"Cookie": {page.cookie}}
	whole := http.Header{"Cookie": {page.cookie}, auth.PageHeader: {page.token}}
	return []presented{
		{name: "none", header: http.Header{}},
		{name: "wrong", header: bearer("abide_wrong")},
		{name: "revoked", header: bearer(revoked)},
		{name: "expired", header: bearer(expired)},
		{name: "a cookie without its second half", header: cookie, cookie: true},
		{name: "a wrong cookie", header: http.Header{"Cookie": {page.cookie[:len(page.cookie)-1] + "!"}}, cookie: true},
		{name: "viewer", header: token(auth.Viewer, ghost), good: true, most: read},
		{name: "collaborator", header: token(auth.Collaborator, ghost), good: true, most: act},
		{name: "owner of the session", header: token(auth.Owner, ghost), good: true, most: manage},
		{name: "owner of another session", header: token(auth.Owner, "20260221-140307-11111111"), good: true, most: manage, other: true},
		{name: "owner", header: token(auth.Owner, ""), good: true, most: owner},
		{name: "page", header: whole, good: true, most: owner, cookie: true},
	}
}

// movedHub is a hub whose clock the test advances, so that wrong credentials need
// not wait.
func movedHub(t *testing.T) (*hub, *atomic.Int64) {
	t.Helper()
	clock := &atomic.Int64{}
	clock.Store(time.Now().UnixNano())
	return startHub(t, hubOptions{now: func() time.Time { return time.Unix(0, clock.Load()) }}), clock
}

// Faults 51–54, 60 and 78. make test has each credential at each route, and each host with
// each origin at each route, with the owner's token, a page and one of the other
// credentials by turns; make soak has every combination.
func TestEveryRouteForEveryCredentialHostAndOrigin(t *testing.T) {
	h, clock := movedHub(t)
	needs := routeNeeds()
	for _, r := range documented(t, h) {
		require.Contains(t, needs, r.method+" "+r.path, "a new route needs a row")
	}
	all := credentials(t, h, clock)
	hosts := map[string]string{"good": h.addr, "bad": "evil.example" + h.addr[strings.LastIndex(h.addr, ":"):]}
	origins := map[string]string{"no": "", "own": h.origin(), "cross": "http://127.0.0.1:1", "null": "null"}
	for i, route := range slices.Sorted(maps.Keys(needs)) {
		n := needs[route]
		method, path, _ := strings.Cut(route, " ")
		path = placeholder.ReplaceAllString(strings.ReplaceAll(path, "{id}", ghost), strings.Repeat("0", 64))
		for j, p := range all {
			for hostName, host := range hosts {
				for originName, origin := range origins {
					own := hostName == "good" && originName == "own"
					if !own && p.name != "owner" && p.name != "page" && j != i%len(all) && !soak.On() {
						continue
					}
					header := p.header.Clone()
					header.Set("Host", host)
					if origin != "" {
						header.Set("Origin", origin)
					}
					if strings.HasSuffix(path, "/ws") { // refused for its missing upgrade, after authorisation
						header.Set("Connection", "Upgrade")
						header.Set("Upgrade", "websocket")
						header.Set("Sec-WebSocket-Version", "0")
					}
					var body any
					if method != "GET" {
						body = "not what is asked for"
					}
					if (!p.good || n == machine) && hostName == "good" {
						// So that wrong credentials are not delayed. All together it must be
						// less than the life of a page.
						clock.Add(int64(15 * time.Second))
					}
					got := h.do(method, path, body, header).status
					want := cellOf(n, p, hostName == "good", originName)
					cell := fmt.Sprintf("%s, credential %s, host %s, origin %s", route, p.name, hostName, originName)
					if want == 0 {
						require.NotContains(t, []int{401, 403, 421, 429, 500}, got, cell)
					} else {
						require.Equal(t, want, got, cell)
					}
				}
			}
		}
	}
}

// cellOf returns the status that a cell must have; 0 is any status but a refusal.
func cellOf(n need, p presented, goodHost bool, origin string) int {
	page := n == ownPage
	switch {
	case !goodHost:
		return 421
	case origin == "cross", origin == "null":
		return 403
	case n == machine:
		return 401
	case origin == "no" && (page || n > ownPage && p.cookie):
		return 403
	case n == open:
		return 0
	case page: // the body is invalid, so no code or signature is checked
		return 0
	case !p.good:
		return 401
	case !p.may(n):
		return 403
	}
	return 0
}

func TestEveryMessageForEveryCredential(t *testing.T) {
	h, clock := movedHub(t)
	needs := messageNeeds()
	for _, p := range credentials(t, h, clock) {
		if !p.good {
			continue // it cannot open a socket: see the routes
		}
		header := p.header.Clone()
		header.Set("Origin", h.origin())
		socket := h.dialAs("/api/ws", header)
		for _, message := range wire.ClientMessages() {
			kind := message.MessageType()
			require.Contains(t, needs, kind, "a new message needs a row")
			frame, err := json.Marshal(map[string]any{"type": kind, "request_id": "r", "session_id": ghost, "prompt_id": "p", "nonce": "asked"})
			require.NoError(t, err)
			socket.sendRaw(string(frame))
			socket.send(&wire.Ping{Nonce: kind})
			refused := false
			for answered := false; !answered; {
				switch m := socket.next().(type) {
				case *wire.Error:
					refused = refused || m.Code == wire.CodeForbidden
				case *wire.Pong:
					answered = m.Nonce == kind
				}
			}
			require.Equal(t, !p.may(needs[kind]), refused, "%s by %s", kind, p.name)
		}
	}
}
