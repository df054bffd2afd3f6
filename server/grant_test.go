package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
)

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// Fault 60 over the socket: the message is refused and the socket stays open.
func TestAViewerMayOnlyLook(t *testing.T) {
	h := startHub(t, hubOptions{})
	s, other := h.session(), h.session()
	h.prompt(s, "p1", "say 3")
	before := len(h.events(s))
	viewer := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	p := h.dialAs("/api/sessions/"+s.ID()+"/ws", viewer)
	require.Len(t, expect[*wire.EventsLoaded](p).Events, before)
	for _, m := range []wire.Message{
		&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p2", Text: "x"},
		&wire.PermissionAnswer{RequestID: "r", SessionID: s.ID(), PermissionID: "perm-1", OptionID: "yes"},
		&wire.Cancel{RequestID: "r", SessionID: s.ID()},
		&wire.ForceReset{RequestID: "r", SessionID: s.ID()},
		&wire.ResumeTurn{RequestID: "r", SessionID: s.ID()},
		&wire.DismissTurn{RequestID: "r", SessionID: s.ID()},
		&wire.QueueEdit{RequestID: "r", SessionID: s.ID(), PromptID: "p", Text: "x"},
		&wire.QueueMove{RequestID: "r", SessionID: s.ID(), PromptID: "p"},
		&wire.QueueRemove{RequestID: "r", SessionID: s.ID(), PromptID: "p"},
		&wire.QueueClear{RequestID: "r", SessionID: s.ID()},
		&wire.SetMode{RequestID: "r", SessionID: s.ID(), ModeID: "x"},
		&wire.SetConfigOption{RequestID: "r", SessionID: s.ID(), ConfigID: "x", Value: "y"},
		&wire.Observe{RequestID: "r", SessionID: other.ID()},
		&wire.LoadEvents{RequestID: "r", SessionID: other.ID(), AfterSeq: ptr(event.Seq(0))},
		&wire.Observe{RequestID: "r", SessionID: "20260101-000000-00000000"},
	} {
		p.send(m)
		refusal := find[*wire.Error](p, nil)
		require.Equal(t, wire.CodeForbidden, refusal.Code, m.MessageType())
		require.Equal(t, "r", refusal.RequestID)
	}
	p.send(&wire.LoadEvents{RequestID: "r", SessionID: s.ID(), AfterSeq: ptr(event.Seq(0))})
	require.Len(t, find[*wire.EventsLoaded](p, nil).Events, before, "reading is still allowed")
	require.Len(t, h.events(s), before)
}

func TestAViewerDoesNotKeepARequestFromBeingDeniedUnattended(t *testing.T) {
	h := startHub(t, hubOptions{})
	require.NoError(t, h.manager.Configure(settings.Hub{
		Agents: h.manager.Settings().Agents, Workspaces: h.manager.Settings().Workspaces, DefaultWorkspace: h.manager.Settings().DefaultWorkspace,
		Permissions: settings.Permissions{DenyUnattended: true},
	}))
	s := h.session()
	viewer := h.dialAs("/api/sessions/"+s.ID()+"/ws", bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})))
	helper := h.dialAs("/api/sessions/"+s.ID()+"/ws", bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})))
	find(viewer, func(m *wire.State) bool { return len(m.Observers) == 2 })
	helper.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "ask"})
	find(helper, func(m *wire.State) bool { return len(m.PendingPermissions) == 1 })
	helper.send(&wire.Presence{SessionID: s.ID(), Activity: "away"})
	viewer.send(&wire.Presence{SessionID: s.ID(), Activity: "typing"})
	require.Contains(t, string(h.await(s, 0, event.TypePermissionOutcome).Data), "no person watches this session")
}

// Fault 60 over HTTP: each route with each scope.
func TestRoutesHoldToTheScope(t *testing.T) {
	h := startHub(t, hubOptions{})
	s, other := h.session(), h.session()
	scopes := map[string]http.Header{
		"owner":        bearer(h.token),
		"owner of one": bearer(h.mint(auth.TokenRequest{Scope: auth.Owner, SessionID: s.ID()})),
		"collaborator": bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})),
		"viewer":       bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})),
	}
	one := "/api/sessions/" + s.ID()
	const all, notViewer, owners, owner = "owner owner of one collaborator viewer", "owner owner of one collaborator", "owner owner of one", "owner"
	for _, c := range []struct{ method, path, who string }{
		{"GET", "/api/health", all}, {"GET", "/api/openapi.json", all}, {"GET", "/api/sessions", all},
		{"GET", "/api/devices", owner}, {"GET", "/api/agents", owner}, {"PATCH", "/api/devices/nope", owner}, {"DELETE", "/api/devices/nope", owner}, {"POST", "/api/sessions", owner},
		{"GET", one, all}, {"GET", one + "/events", all}, {"GET", one + "/queue", all}, {"GET", one + "/queue/nope", all},
		{"GET", one + "/blobs/" + strings.Repeat("0", 64), all},
		{"POST", one + "/prompt", notViewer}, {"POST", one + "/cancel", notViewer}, {"POST", one + "/force-reset", notViewer},
		{"POST", one + "/permissions/nope", notViewer}, {"POST", one + "/queue", notViewer}, {"DELETE", one + "/queue", notViewer},
		{"PATCH", one + "/queue/nope", notViewer}, {"DELETE", one + "/queue/nope", notViewer},
		{"GET", one + "/rules", notViewer}, {"POST", one + "/rules", owners}, {"DELETE", one + "/rules/nope", owners},
		{"GET", one + "/interruption", all}, {"POST", one + "/resume", notViewer}, {"POST", one + "/pause", notViewer}, {"POST", one + "/dismiss", notViewer},
		{"POST", one + "/attachments", notViewer}, {"POST", one + "/restart", notViewer}, {"POST", one + "/authenticate", owners}, {"POST", one + "/mode", owners}, {"POST", one + "/option", owners}, {"POST", one + "/reopen", owners}, {"POST", one + "/end", owners}, {"POST", one + "/record", owners}, {"POST", one + "/record/end", owners},
		{"PATCH", one, owners},
		{"GET", "/api/sessions/" + other.ID() + "/events", owner}, {"GET", "/api/sessions/20260101-000000-00000000", owner},
		{"POST", "/api/sessions/" + other.ID() + "/prompt", owner},
	} {
		for who, header := range scopes {
			var body any
			if c.method == "POST" || c.method == "PATCH" {
				body = map[string]any{}
			}
			res := h.do(c.method, c.path, body, header)
			allowed := c.who == all || strings.HasPrefix(c.who, who) && (len(c.who) == len(who) || c.who[len(who)] == ' ') || strings.Contains(c.who, " "+who)
			require.Equal(t, !allowed, res.status == 403, "%s %s as %s: %d %s", c.method, c.path, who, res.status, res.body)
		}
	}
	var list wire.SessionPage
	h.do("GET", "/api/sessions", nil, scopes["viewer"]).decode(t, &list)
	require.Len(t, list.Sessions, 1)
	require.Equal(t, s.ID(), list.Sessions[0].SessionID)
	p := h.dialAs("/api/ws", scopes["viewer"])
	p.send(&wire.Ping{Nonce: "settled"})
	find[*wire.Pong](p, nil)
	h.prompt(other, "p1", "hi")
	h.prompt(s, "p1", "hi")
	require.Equal(t, s.ID(), find[*wire.Session](p, nil).Session.SessionID, "a frame of another session")
}

// Fault 61. The hub is notified of the revocation: it does not poll in this test.
func TestARevokedDeviceLosesItsSocketAtOnce(t *testing.T) {
	h := startHub(t, hubOptions{alone: true})
	s := h.session()
	phone := h.device("phone")
	laptop := h.dialAs("/api/ws", h.device("laptop"))
	own, tab := h.dialAs("/api/sessions/"+s.ID()+"/ws", phone), h.dialAs("/api/ws", phone)

	var list struct {
		Devices []struct{ ID, Name string }
	}
	require.NoError(t, jsonUnmarshal(h.do("GET", "/api/devices", nil, http.Header{"Cookie": phone["Cookie"], auth.PageHeader: phone[auth.PageHeader], "Sec-Fetch-Site": {"same-origin"}}).body, &list))
	id := ""
	for _, d := range list.Devices {
		if d.Name == "phone" {
			id = d.ID
		}
	}
	require.NotEmpty(t, id)
	require.Equal(t, 204, h.api("DELETE", "/api/devices/"+id, nil).status)
	require.EqualValues(t, wire.CloseRevoked, own.closed())
	require.EqualValues(t, wire.CloseRevoked, tab.closed())
	require.Equal(t, 401, h.do("GET", "/api/health", nil, phone).status)
	laptop.send(&wire.Ping{Nonce: "n"})
	require.Equal(t, "n", find[*wire.Pong](laptop, nil).Nonce, "another device was disconnected")
}

func TestABrowserPairedAnewTakesTheOldPlace(t *testing.T) {
	h := startHub(t, hubOptions{alone: true})
	phone := h.device("phone")
	laptop := h.device("laptop")
	tab, other := h.dialAs("/api/ws", phone), h.dialAs("/api/ws", laptop)
	again := h.page("phone", phone).header()
	require.EqualValues(t, wire.CloseRevoked, tab.closed())
	require.Equal(t, 401, h.do("GET", "/api/health", nil, phone).status)
	require.Equal(t, 200, h.do("GET", "/api/health", nil, again).status)
	require.Len(t, h.registry.Grants(), 3, "two browsers, and the token of this test")
	other.send(&wire.Ping{Nonce: "n"})
	require.Equal(t, "n", find[*wire.Pong](other, nil).Nonce)
}

func TestARenamedDeviceIsCalledByItsNewNameOnItsOpenSocketToo(t *testing.T) {
	h := startHub(t, hubOptions{alone: true})
	s := h.session()
	phone := h.device("phone")
	own := h.dialAs("/api/sessions/"+s.ID()+"/ws", phone)
	type device struct {
		ID, Name string
		Current  bool
	}
	var list struct{ Devices []device }
	require.NoError(t, jsonUnmarshal(h.do("GET", "/api/devices", nil, phone).body, &list))
	at := slices.IndexFunc(list.Devices, func(d device) bool { return d.Current })
	require.GreaterOrEqual(t, at, 0)

	path := "/api/devices/" + list.Devices[at].ID
	for _, refused := range []string{"", " \t", "\u200b", "Kitchen\u202e tablet"} {
		res := h.do("PATCH", path, map[string]string{"name": refused}, phone)
		require.Equal(t, 400, res.status, res.body)
	}
	require.Equal(t, 404, h.do("PATCH", "/api/devices/nope", map[string]string{"name": "x"}, phone).status)
	var renamed device
	require.NoError(t, jsonUnmarshal(h.do("PATCH", path, map[string]string{"name": " Kitchen tablet "}, phone).body, &renamed))
	require.Equal(t, device{ID: list.Devices[at].ID, Name: "Kitchen tablet", Current: true}, renamed)

	find(own, func(m *wire.State) bool { return len(m.Observers) == 1 && m.Observers[0].Actor == "Kitchen tablet" })
	own.send(&wire.Prompt{RequestID: "r", SessionID: s.ID(), PromptID: "p1", Text: "hi"})
	require.Contains(t, string(h.await(s, 0, event.TypeUserPrompt).Data), `"actor":"Kitchen tablet"`)
}

func TestARevocationByTheCommandLineClosesTheSocket(t *testing.T) {
	h := startHub(t, hubOptions{})
	other, err := auth.Open(h.dir, nil, nil)
	require.NoError(t, err)
	token, grant, err := other.MintToken(auth.TokenRequest{Scope: auth.Owner})
	require.NoError(t, err)
	p := h.dialAs("/api/ws", bearer(token))
	require.NoError(t, other.Revoke(grant.ID))
	require.EqualValues(t, wire.CloseRevoked, p.closed())
}

func TestATokenThatExpiresTakesItsSocketAndItsStreamAlong(t *testing.T) {
	// The registry's clock is behind: the stream ends with its token by the clock of
	// the machine, and the socket once the registry says so. Until then the token can
	// be used, also on a slow machine.
	var behind atomic.Int64
	behind.Store(int64(time.Hour - 200*time.Millisecond))
	h, writes := hubWithLateWrites(t, hubOptions{now: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }})
	s := h.session()
	token := h.mint(auth.TokenRequest{Scope: auth.Owner, Life: time.Hour})
	p := h.dialAs("/api/ws", bearer(token))
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	writes.of(t, conn).lapseWhenIdle()
	fmt.Fprintf(conn, "GET /api/sessions/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", s.ID(), h.addr, token)
	stream, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, 200, stream.StatusCode)
	_, err = io.Copy(io.Discard, stream.Body)
	require.NoError(t, err, "the stream ends with a complete response, although its last write is older than the write deadline")
	behind.Store(0)
	require.EqualValues(t, wire.CloseRevoked, p.closed())
}

func TestAGrantThatIsNarrowedEndsWhatItDoesNotCoverAnyMore(t *testing.T) {
	h := startHub(t, hubOptions{})
	kept, lost := h.session(), h.session()
	token := bearer(h.mint(auth.TokenRequest{Scope: auth.Owner, Name: "wide"}))
	p, own := h.dialAs("/api/ws", token), h.dialAs("/api/sessions/"+lost.ID()+"/ws", token)
	for _, s := range []*session.BackgroundSession{kept, lost} {
		p.send(&wire.Observe{SessionID: s.ID(), AfterSeq: ptr(event.Seq(0))})
		find(p, func(m *wire.State) bool { return m.SessionID == s.ID() })
	}
	h.narrow("wide", auth.Collaborator, kept.ID())
	require.EqualValues(t, wire.CloseScopeLost, own.closed())
	for code := wire.Code(""); code != wire.CodeForbidden; {
		p.send(&wire.LoadEvents{RequestID: "r", SessionID: lost.ID(), AfterSeq: ptr(event.Seq(0))})
		switch m := p.next().(type) {
		case *wire.Error:
			code = m.Code
		case *wire.State, *wire.Events, *wire.EventsLoaded, *wire.Session:
		default:
			t.Fatalf("got %s", m.MessageType())
		}
	}
	h.prompt(lost, "p1", "say 10")
	h.prompt(kept, "p1", "say 10")
	for done := false; !done; {
		switch m := p.next().(type) {
		case *wire.Events:
			require.Equal(t, kept.ID(), m.SessionID)
			done = m.LastSeq == kept.Log().Marks().Visible
		case *wire.State:
			require.Equal(t, kept.ID(), m.SessionID)
		case *wire.Session:
			require.Equal(t, kept.ID(), m.Session.SessionID)
		}
	}
}

// narrow changes the scope of the token of this name, as an edit of the file would.
func (h *hub) narrow(name string, scope auth.Scope, sessionID string) {
	h.t.Helper()
	path := filepath.Join(h.dir, "auth.json")
	data, err := os.ReadFile(path)
	require.NoError(h.t, err)
	var record map[string]any
	require.NoError(h.t, json.Unmarshal(data, &record))
	for _, token := range record["tokens"].([]any) {
		if token := token.(map[string]any); token["name"] == name {
			token["scope"], token["session_id"] = scope, sessionID
		}
	}
	data, err = json.Marshal(record)
	require.NoError(h.t, err)
	require.NoError(h.t, os.WriteFile(path+".new", data, 0o600))
	require.NoError(h.t, os.Rename(path+".new", path))
}
