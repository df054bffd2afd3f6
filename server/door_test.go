package server_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented returns the routes of openapi.json. Another test compares them with
// the hub's responses.
func documented(t *testing.T, h *hub) (list []struct{ method, path string }) {
	t.Helper()
	var doc struct{ Paths map[string]map[string]any }
	require.NoError(t, json.Unmarshal([]byte(h.api("GET", "/api/openapi.json", nil).body), &doc))
	require.Greater(t, len(doc.Paths), 15)
	for path, methods := range doc.Paths {
		for method := range methods {
			list = append(list, struct{ method, path string }{strings.ToUpper(method), path})
		}
	}
	return list
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// Faults 51, 52, 53 and 54 on every route, and on unknown ones.
func TestEveryRouteIsBehindTheDoor(t *testing.T) {
	h := startHub(t, hubOptions{})
	id := h.session().ID()
	cookie := h.page("victim", nil).cookie
	routes := documented(t, h)
	for _, more := range []string{"/", "/s/" + id, "/icon.svg", "/assets/app-1a2b3c4d.js", "/index.html", "/missing.js", "/api/nothing", "/api", "/api/"} {
		routes = append(routes, struct{ method, path string }{"GET", more})
	}
	own, port := h.origin(), h.addr[strings.LastIndex(h.addr, ":"):]
	attacks := []struct {
		name   string
		header http.Header
		want   int
		open   bool // needs no credential
	}{
		{"rebound name", http.Header{"Host": {"evil.com"}, "Cookie": {cookie}, "Origin": {"http://evil.com"}}, 421, true},
		{"rebound name with the port", http.Header{"Host": {"evil.com" + port}, "Cookie": {cookie}, "Origin": {"http://evil.com" + port}}, 421, true},
		{"another port", http.Header{"Host": {"127.0.0.1:1"}, "Authorization": {"Bearer " + h.token}}, 421, true},
		{"forwarded host", http.Header{"Host": {"evil.com"}, "X-Forwarded-Host": {h.addr}, "Cookie": {cookie}, "Origin": {own}}, 421, true},
		{"evil origin", http.Header{"Cookie": {cookie}, "Origin": {"https://evil.com"}}, 403, true},
		{"evil origin with a token", http.Header{"Authorization": {"Bearer " + h.token}, "Origin": {"https://evil.com"}}, 403, true},
		{"null origin", http.Header{"Cookie": {cookie}, "Origin": {"null"}}, 403, true},
		{"look-alike behind", http.Header{"Cookie": {cookie}, "Origin": {own + ".evil.com"}}, 403, true},
		{"look-alike before", http.Header{"Cookie": {cookie}, "Origin": {"http://evil" + h.addr}}, 403, true},
		{"form of another page", http.Header{"Cookie": {cookie}, "Origin": {"https://evil.com"}, "Content-Type": {"text/plain"}}, 403, true},
		{"cookie without origin", http.Header{"Cookie": {cookie}}, 403, false},
		{"cookie from the same site", http.Header{"Cookie": {cookie}, "Sec-Fetch-Site": {"same-site"}}, 403, false},
		{"nothing", http.Header{"Origin": {own}}, 401, false},
		{"cookie without its page", http.Header{"Cookie": {cookie}, "Origin": {own}}, 401, false},
		{"wrong cookie", http.Header{"Cookie": {"abide-" + h.store.HubID() + "=x"}, "Origin": {own}}, 401, false},
		{"from 127.0.0.1 by its own word", http.Header{"X-Forwarded-For": {"127.0.0.1"}, "X-Real-Ip": {"127.0.0.1"}}, 401, false},
	}
	for _, r := range routes {
		path := strings.ReplaceAll(r.path, "{id}", id)
		path = placeholder.ReplaceAllString(path, "0")
		open := !strings.HasPrefix(path, "/api") || path == "/api/ready" || path == "/api/pair" || path == "/api/page" || path == "/api/answer" || path == "/api/machine" || path == "/api/machines/join"
		for _, a := range attacks {
			if open && !a.open || a.want == 401 && strings.Contains(a.name, "wrong") && path != "/api/ws" {
				continue // wrong credentials are delayed, so one route must do
			}
			t.Run(r.method+" "+path+" "+a.name, func(t *testing.T) {
				header := a.header.Clone()
				if strings.HasSuffix(path, "/ws") {
					header.Set("Connection", "Upgrade")
					header.Set("Upgrade", "websocket")
					header.Set("Sec-WebSocket-Version", "13")
					header.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
				}
				var body any
				if r.method != "GET" && r.method != "DELETE" {
					body = map[string]string{}
				}
				res := h.do(r.method, path, body, header)
				require.Equal(t, a.want, res.status, res.body)
				require.Equal(t, "nosniff", res.header.Get("X-Content-Type-Options"))
				require.NotEmpty(t, res.code(t))
			})
		}
	}
	require.Len(t, h.events(mustSession(t, h, id)), 1, "a refused request changed the session")
}

func TestAnUnpairedBrowserSeesThePageAndNoData(t *testing.T) {
	h := startHub(t, hubOptions{})
	h.session()
	for path, want := range map[string]int{
		"/": 200, "/s/whatever?seq=1": 200, "/icon.svg": 200, "/api/ready": 200,
		"/api/health": 401, "/api/sessions": 401, "/api/agents": 401, "/api/devices": 401, "/api/ws": 401, "/api/openapi.json": 401,
	} {
		res := h.do("GET", path, nil, http.Header{"Origin": {h.origin()}})
		require.Equal(t, want, res.status, path)
	}
}

func TestEveryAnswerCarriesTheHeaders(t *testing.T) {
	h := startHub(t, hubOptions{})
	for _, path := range []string{"/", "/missing.js", "/api/health", "/api/nothing", "/api/sessions"} {
		res := h.api("GET", path, nil)
		require.Contains(t, res.header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'", path)
		require.NotContains(t, res.header.Get("Content-Security-Policy"), "unsafe", path)
		require.Contains(t, res.header.Get("Content-Security-Policy"), "trusted-types abide-shell ", path)
		require.Contains(t, res.header.Get("Permissions-Policy"), "microphone=()", path)
		require.Equal(t, "?1", res.header.Get("Origin-Agent-Cluster"), path)
		require.Empty(t, res.header.Get("Strict-Transport-Security"), "%s: a loopback name has no TLS", path)
		require.Equal(t, "no-referrer", res.header.Get("Referrer-Policy"), path)
		require.Equal(t, "same-origin", res.header.Get("Cross-Origin-Opener-Policy"), path)
		require.Equal(t, "same-origin", res.header.Get("Cross-Origin-Resource-Policy"), path)
		if strings.HasPrefix(path, "/api") {
			require.Equal(t, "no-store", res.header.Get("Cache-Control"), path)
		}
	}
}

func TestAPublicNameIsKeptToHTTPS(t *testing.T) {
	h := startHub(t, hubOptions{})
	h.door.Names([]string{h.addr}, []string{"abide.example.org"})
	res := h.do("GET", "/", nil, http.Header{"Host": {"abide.example.org"}})
	require.Equal(t, 200, res.status)
	require.Equal(t, "max-age=15552000", res.header.Get("Strict-Transport-Security"))
}

// Fault 57.
func TestPathTraversalIsRefused(t *testing.T) {
	h := startHub(t, hubOptions{})
	id := h.session().ID()
	for _, path := range []string{
		"/api/sessions/..%2f..%2fauth.json", "/api/sessions/%2e%2e", "/api/sessions/..", "/api/sessions/../../auth.json",
		"/api/sessions/..%5c..%5cauth", "/api/sessions/%00", "/api/sessions//etc/passwd", "/api/sessions/%2fetc%2fpasswd/events",
		"/api/sessions/" + id[:len(id)-1] + "A", "/api/sessions/" + strings.Repeat("a", 65), "/api/sessions/short",
		"/api/sessions/" + id + "/blobs/..%2f..%2fmetadata.json", "/api/sessions/" + id + "/blobs/" + strings.Repeat("A", 64),
		"/api/sessions/" + id + "/blobs/" + strings.Repeat("0", 64), "/api/sessions/" + id + "/blobs/%00",
		"/../auth.json", "/%2e%2e/auth.json", "/assets/..%2f..%2fauth.json", "/..%5cauth.json", "//etc/passwd.txt",
	} {
		res := h.api("GET", path, nil)
		require.Contains(t, []int{400, 404}, res.status, "%s: %s", path, res.body)
		require.NotContains(t, res.body, "secret")
	}
}

// Fault 56: no log and no address contains a secret.
func TestNoCredentialIsLogged(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	code, err := h.registry.MintPairingCode()
	require.NoError(t, err)
	_, public := newPageKey(t)
	res := h.do("POST", "/api/pair", map[string]string{"code": code, "page_key": public}, http.Header{"Origin": {h.origin()}})
	require.Equal(t, 200, res.status)
	var paired struct{ Page struct{ Token string } }
	require.NoError(t, json.Unmarshal([]byte(res.body), &paired))
	cookie := (&http.Response{Header: res.header}).Cookies()[0].Value
	require.NotContains(t, res.body, cookie)
	h.do("GET", "/api/health", nil, http.Header{"Authorization": {"Bearer wrong-secret"}})
	h.do("GET", "/api/health?token="+h.token, nil, nil)
	h.dial("/api/sessions/" + s.ID() + "/ws")
	h.prompt(s, "p1", "say 3")
	h.stop()
	require.NotEmpty(t, h.log.String())
	for _, secret := range []string{h.token, code, cookie, paired.Page.Token, "wrong-secret"} {
		require.NotContains(t, h.log.String(), secret)
	}
	require.Equal(t, "no-referrer", res.header.Get("Referrer-Policy"))
}

func TestATokenInTheAddressIsNotACredential(t *testing.T) {
	h := startHub(t, hubOptions{})
	for _, q := range []string{"?token=" + h.token, "?access_token=" + h.token, "?auth=" + h.token} {
		require.Equal(t, 401, h.do("GET", "/api/health"+q, nil, nil).status)
	}
}
