package server_test

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// withoutACredential are the routes that no grant admits.
var withoutACredential = []string{"/api/ready", "/api/pair", "/api/page", "/api/answer", "/api/machines/join"}

// Fault 91. The head of each request is admitted, then its grant ends, then the body
// comes.
func TestFault91ARequestWhoseGrantEndsBeforeItsBodyIsRefusedAndDoesNothing(t *testing.T) {
	h := startHub(t, hubOptions{})
	calls, _ := everyCall(t, h)
	walked, home := map[auth.Scope]int{}, h.session().ID()
	// Each new session writes its queue beside its work.
	sessions := filepath.Join(h.dir, "sessions", "*")
	require.Eventually(t, func() bool {
		made, _ := filepath.Glob(sessions)
		written, _ := filepath.Glob(filepath.Join(sessions, "queue.json"))
		half, _ := filepath.Glob(filepath.Join(sessions, "queue.json.tmp"))
		return len(written) == len(made) && len(half) == 0
	}, patience, time.Millisecond)
	before := stored(t, h)
	for _, c := range calls {
		if c.method == "GET" || strings.Contains(strings.Join(withoutACredential, " "), c.route) {
			continue
		}
		for _, scope := range []auth.Scope{auth.Owner, auth.Collaborator, auth.Viewer} {
			if revokedBeforeTheBody(t, h, c, scope, home) {
				walked[scope]++
			}
		}
	}
	require.Greater(t, walked[auth.Owner], 35)
	require.Greater(t, walked[auth.Collaborator], 15)
	require.Greater(t, walked[auth.Viewer], 3)
	require.Equal(t, before, stored(t, h))
	for _, g := range h.registry.Grants() {
		require.NotEqual(t, "Phone", g.Name, "a device was renamed")
	}
}

// revokedBeforeTheBody sends a request whose grant of the scope ends before the body. It
// reports whether the scope is admitted.
func revokedBeforeTheBody(t *testing.T, h *hub, c apiCall, scope auth.Scope, home string) bool {
	t.Helper()
	name := fmt.Sprint(scope, ": ", c.method, " ", c.route)
	var header http.Header
	id := ""
	switch of := sessionInPath.FindStringSubmatch(c.path); {
	case scope == auth.Owner && c.route == "/api/pairings":
		phone := h.page("revoked", nil)
		header = phone.header()
		header.Set("Origin", h.origin())
		for _, g := range h.registry.Grants() {
			if g.Name == "revoked" {
				id = g.ID
			}
		}
	default:
		request := auth.TokenRequest{Scope: scope}
		if scope != auth.Owner {
			request.SessionID = home // of a path without a session
		}
		if scope != auth.Owner && of != nil {
			request.SessionID = of[1]
		}
		token, grant, err := h.registry.MintToken(request)
		require.NoError(t, err)
		header, id = bearer(token), grant.ID
	}
	body := []byte("{}")
	if c.body != nil {
		var err error
		body, err = json.Marshal(c.body)
		require.NoError(t, err)
	}
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n", c.method, c.path, h.addr, len(body))
	require.NoError(t, header.Write(conn))
	fmt.Fprint(conn, "\r\n")
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	require.NoError(t, err, name)
	if scope != auth.Owner && strings.HasPrefix(line, "HTTP/1.1 403 ") {
		return false
	}
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line, "%s was answered before its body came", name)
	_, err = r.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, h.registry.Revoke(id))
	_, _ = conn.Write(body) // the connection may be cut by now
	if res, err := http.ReadResponse(r, nil); err == nil {
		require.Equal(t, 401, res.StatusCode, name)
		require.NoError(t, res.Body.Close())
	}
	return true
}

var sessionInPath = regexp.MustCompile(`^/api/sessions/([^/?]+)`)

// outcomes are what became of the notifications, which comes some time after the
// events.
var outcomes = regexp.MustCompile(`"outcomes":\[[^]]*\]`)

// stored are the sessions' files, by a hash, the subscriptions and the channels,
// without what is written some time after the events.
func stored(t *testing.T, h *hub) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, route := range []string{"/api/push", "/api/channels"} {
		files[route] = outcomes.ReplaceAllString(h.api("GET", route, nil).body, "")
	}
	sessions := filepath.Join(h.dir, "sessions")
	require.NoError(t, filepath.WalkDir(sessions, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "derived" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "metadata.json") { // metadata.json.tmp, too
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	}))
	return files
}

// say adds a message of so many bytes to the log, which no compression shortens much.
func (h *hub) say(s *session.BackgroundSession, bytes int) {
	h.t.Helper()
	text := make([]byte, bytes/2)
	_, _ = rand.Read(text)
	data := fmt.Sprintf(`{"message_id":"m%x","text":"%x"}`, text[:4], text)
	_, _, err := s.Log().Append(h.t.Context(), 0, event.Draft{Type: event.TypeAgentMessage, Data: []byte(data)})
	require.NoError(h.t, err)
}

// Fault 91. An answer that is being sent ends with the grant.
func TestFault91AnAnswerEndsWithItsGrant(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for range 60 {
		h.say(s, 200_000)
	}
	one := "/api/sessions/" + s.ID()
	for _, c := range []struct{ name, path, accept string }{
		{"export", one + "/export?format=jsonl", "*/*"},
		{"zip", one + "/export?format=zip", "*/*"},
		{"events", one + "/events", "text/event-stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			token, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()})
			require.NoError(t, err)
			conn, err := net.Dial("tcp", h.addr)
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(256<<10)) // more than a packet of the loopback: less is read a probe at a time
			require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: %s\r\nConnection: close\r\n\r\n", c.path, h.addr, token, c.accept)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			_, err = io.ReadFull(res.Body, make([]byte, 1_000))
			require.NoError(t, err)
			require.NoError(t, h.registry.Revoke(grant.ID))
			revoked := time.Now()
			_, err = io.Copy(io.Discard, res.Body)
			if c.name != "events" { // a stream may end by itself before it is cut
				require.Error(t, err, "the answer looks whole")
			}
			requireInASecond(t, revoked)
		})
	}
}

// requireInASecond requires that at most a second has passed. make soak has a machine for
// it; elsewhere a busy one may take longer.
func requireInASecond(t *testing.T, since time.Time) {
	t.Helper()
	bound := patience / 2
	if soak.On() {
		bound = time.Second
	}
	require.Less(t, time.Since(since), bound)
}

// Fault 91. A body that comes slowly ends with the grant.
func TestFault91ABodyEndsWithItsGrant(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for _, path := range []string{"/api/import", "/api/sessions/" + s.ID() + "/attachments?name=a"} {
		token, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Owner})
		require.NoError(t, err)
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", path, h.addr, token)
		r := bufio.NewReader(conn)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
		_, err = r.ReadString('\n')
		require.NoError(t, err)
		fmt.Fprint(conn, "half")
		require.NoError(t, h.registry.Revoke(grant.ID))
		res, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		require.Equal(t, 401, res.StatusCode, path)
		require.NoError(t, res.Body.Close())
	}
}

// Fault 91. A login goes on after its request, and ends with the credential that began it;
// so does a line of input that it does not read.
func TestFault91ALoginEndsWithTheCredentialThatBeganIt(t *testing.T) {
	var ahead atomic.Int64
	h := startHub(t, hubOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	for name, end := range map[string]func(auth.Grant){
		"revoked":  func(g auth.Grant) { require.NoError(t, h.registry.Revoke(g.ID)) },
		"narrowed": func(auth.Grant) { h.narrow("narrowed", auth.Collaborator, h.session().ID()) },
		"expired":  func(auth.Grant) { ahead.Store(int64(time.Hour)) },
	} {
		request := auth.TokenRequest{Name: name, Scope: auth.Owner}
		if name == "expired" {
			request.Life = time.Hour
		}
		token, grant, err := h.registry.MintToken(request)
		require.NoError(t, err)
		require.Equal(t, 200, h.do("POST", "/api/agents/fake/login", map[string]string{"method_id": "here"}, bearer(token)).status)
		login := <-h.logins
		require.NoError(t, login.Err(), name)
		status := make(chan int, 1)
		go func() {
			status <- h.do("POST", "/api/agents/fake/login/input", map[string]string{"text": "nobody reads it"}, bearer(token)).status
		}()
		require.Eventually(t, func() bool { return h.typing.Load() > 0 }, patience, time.Millisecond)
		end(grant)
		select {
		case <-login.Done():
		case <-time.After(patience):
			t.Fatalf("%s: the login goes on", name)
		}
		require.Contains(t, []int{401, 403}, <-status, name)
	}
	require.Equal(t, 200, h.api("POST", "/api/agents/fake/login", map[string]string{"method_id": "here"}).status)
	require.NoError(t, (<-h.logins).Err(), "the login of another credential")
}
