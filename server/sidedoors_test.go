package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// Fault 83: a backlog is being sent to a slow reader.
func TestARevokedStreamEndsWhileItsBacklogIsRead(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for n := range 40 {
		data := fmt.Sprintf(`{"message_id":"m%d","text":%q}`, n, strings.Repeat("word ", 40_000))
		_, _, err := s.Log().Append(context.Background(), 0, event.Draft{Type: event.TypeAgentMessage, Data: []byte(data)})
		require.NoError(t, err)
	}
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	token, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})
	require.NoError(t, err)
	fmt.Fprintf(conn, "GET /api/sessions/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", s.ID(), h.addr, token)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.ReadFull(conn, make([]byte, 100_000))
	require.NoError(t, err)
	require.NoError(t, h.registry.Revoke(grant.ID))
	revoked := time.Now()
	more, _ := io.Copy(io.Discard, conn)
	require.Less(t, more, int64(2<<20), "bytes after the revocation, of 8 MB")
	requireInASecond(t, revoked)
}

// Fault 82.
func TestOneCredentialLeavesPlacesForOthersAndAllOfThemForOwners(t *testing.T) {
	h := startHub(t, hubOptions{limits: server.Limits{Clients: 20}})
	s := h.session()
	viewer := func() http.Header { return bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})) }
	path := "/api/sessions/" + s.ID() + "/ws"
	for range 2 { // two viewers; the second one meets the slots reserved for owners
		as, got := viewer(), 0
		for range 10 {
			if _, status, err := h.tryDial(path, as); err == nil {
				got++
			} else {
				require.Equal(t, 503, status)
			}
		}
		require.LessOrEqual(t, got, 8)
	}
	_, status, err := h.tryDial(path, viewer())
	require.Error(t, err)
	require.Equal(t, 503, status, "viewers have their share")
	for range 5 {
		h.dial(path)
	}
}

// Fault 82: requests that are begun and never completed.
func TestRequestsUnderWayOfOneCredentialLeavePlacesForOthers(t *testing.T) {
	h := startHub(t, hubOptions{limits: server.Limits{Clients: 20}})
	s := h.session()
	slow, _, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})
	require.NoError(t, err)
	var held []net.Conn
	for range 8 { // its share
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/sessions/%s/attachments?name=a HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", s.ID(), h.addr, slow)
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 100 Continue\r\n", line, "the hub waits for the body")
		held = append(held, conn)
	}
	path := "/api/sessions/" + s.ID()
	status := func(as http.Header) int { return h.do("GET", path, nil, as).status }
	require.Equal(t, 503, status(bearer(slow)))
	require.Equal(t, 200, status(bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))), "another credential has a share of its own")
	require.Equal(t, 200, h.api("GET", path, nil).status)
	for _, conn := range held {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return status(bearer(slow)) == 200 }, patience, 5*time.Millisecond)
}

func TestAViewersMessageIsShort(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	p, _, err := h.tryDial("/api/ws", bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})))
	require.NoError(t, err)
	require.Equal(t, 64<<10, expect[*wire.Connected](p).Limits.MaxFrame)
	p.send(&wire.Ping{Nonce: strings.Repeat("x", 60<<10)})
	find[*wire.Pong](p, nil)
	p.send(&wire.Ping{Nonce: strings.Repeat("x", 64<<10)})
	require.Equal(t, websocket.StatusMessageTooBig, p.closed())
}

// The prompt's fields are invalid. Only a client that may prompt gets the error
// about them.
func TestAMessageThatIsNotAllowedIsNotDecoded(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	frame := `{"type":"prompt","request_id":"r","session_id":"` + s.ID() + `","prompt_id":7,"attachments":["x"]}`
	for _, c := range []struct {
		scope auth.Scope
		code  wire.Code
	}{{auth.Viewer, wire.CodeForbidden}, {auth.Collaborator, wire.CodeInvalid}} {
		p := h.dialAs("/api/ws", bearer(h.mint(auth.TokenRequest{Scope: c.scope, SessionID: s.ID()})))
		p.sendRaw(frame)
		refused := find[*wire.Error](p, nil)
		require.Equal(t, c.code, refused.Code)
		require.Equal(t, "r", refused.RequestID)
	}
}

// Fault 82: a message in endless empty fragments.
func TestEmptyFragmentsWithoutEndAreCutOff(t *testing.T) {
	h := startHub(t, hubOptions{})
	check := alive(t, h)
	conn, r, _ := rawSocket(t, h, "")
	go func() {
		first := byte(0x01)
		for {
			if _, err := conn.Write([]byte{first, 0x80, 0, 0, 0, 0}); err != nil {
				return
			}
			first = 0x00
		}
	}()
	require.Equal(t, websocket.StatusMessageTooBig, closeCode(t, r))
	check()
}

// Fault 84: connections that never send a request, and idle ones after a request.
func TestIdleConnectionsMakeRoomForAnOwner(t *testing.T) {
	h := startHub(t, hubOptions{limits: server.Limits{Connections: 20}, timing: server.Timing{Request: time.Hour}})
	_, leave := silent(t, h, 100)
	defer leave()
	require.Equal(t, 200, h.api("GET", "/api/health", nil).status)

	for range 30 {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "GET /api/ready HTTP/1.1\r\nHost: %s\r\n\r\n", h.addr)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
	}
	require.Equal(t, 200, h.api("GET", "/api/health", nil).status)
}

// Fault 84: requests without a credential that never end.
func TestRequestsWithoutACredentialMakeRoomForAnOwner(t *testing.T) {
	h := startHub(t, hubOptions{limits: server.Limits{Connections: 20}, timing: server.Timing{Request: time.Hour}})
	mine := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer mine.CloseIdleConnections()
	reused := 0
	ask := func() {
		req, err := http.NewRequest("GET", "http://"+h.addr+"/api/health", nil)
		require.NoError(t, err)
		req.Header = bearer(h.token)
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if i.Reused {
				reused++
			}
		}}
		res, err := mine.Do(req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 200, res.StatusCode)
	}
	ask()
	for range 60 {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/pair HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", h.addr, h.addr)
		require.Equal(t, 200, h.api("GET", "/api/health", nil).status, "on a new connection")
	}
	ask()
	require.Equal(t, 1, reused, "a connection that had a credential was closed")
}

func TestAViewerReadsNoAttachments(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	file, err := s.Attach(t.Context(), event.Actor{ID: "t"}, "notes.txt", "text/plain", strings.NewReader("private notes"))
	require.NoError(t, err)
	said, err := s.Log().PutBlobFrom(t.Context(), "text/plain", strings.NewReader("a long answer"))
	require.NoError(t, err)
	get := func(scope auth.Scope, sum string) response {
		as := bearer(h.mint(auth.TokenRequest{Scope: scope, SessionID: s.ID()}))
		return h.do("GET", "/api/sessions/"+s.ID()+"/blobs/"+sum, nil, as)
	}
	require.Equal(t, 403, get(auth.Viewer, file.SHA256).status)
	require.Equal(t, "private notes", get(auth.Collaborator, file.SHA256).body)
	require.Equal(t, "a long answer", get(auth.Viewer, said.SHA256).body)
}

// Fault 88.
func TestABrowserWhoseSignInEndsForgetsWhatItCached(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.page("laptop", nil)
	cut := h.page("phone", nil)
	for _, g := range h.registry.Grants() {
		switch g.Name {
		case "laptop": // it signs out
			res := h.do("DELETE", "/api/devices/"+g.ID, nil, p.header())
			require.Equal(t, 204, res.status)
			require.Equal(t, `"cache"`, res.header.Get("Clear-Site-Data"))
			require.Contains(t, res.header.Get("Set-Cookie"), "Max-Age=0")
		case "phone": // it is revoked by another client
			res := h.api("DELETE", "/api/devices/"+g.ID, nil)
			require.Equal(t, 204, res.status)
			require.Empty(t, res.header.Get("Clear-Site-Data"))
		}
	}
	require.Equal(t, `"cache"`, h.do("GET", "/api/health", nil, cut.header()).header.Get("Clear-Site-Data"))
	require.Empty(t, h.do("GET", "/api/health", nil, h.page("tablet", nil).half()).header.Get("Clear-Site-Data"))
}
