package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// page is a paired page: its cookie, its private key, and the token from the hub.
type page struct {
	h      *hub
	cookie string
	key    *ecdsa.PrivateKey
	token  string
}

func newPageKey(t *testing.T) (key *ecdsa.PrivateKey, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	return key, base64.RawURLEncoding.EncodeToString(raw)
}

// page pairs a new device. Headers, if given, are those of the pairing request.
func (h *hub) page(name string, as http.Header) *page {
	h.t.Helper()
	code, err := h.registry.MintPairingCode()
	require.NoError(h.t, err)
	key, public := newPageKey(h.t)
	header := as.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Origin", h.origin())
	res := h.do("POST", "/api/pair", map[string]string{"code": code, "device": name, "page_key": public}, header)
	require.Equal(h.t, 200, res.status, res.body)
	cookies := (&http.Response{Header: res.header}).Cookies()
	require.Len(h.t, cookies, 1)
	var answer struct{ Page struct{ Token string } }
	require.NoError(h.t, json.Unmarshal([]byte(res.body), &answer))
	return &page{h, cookies[0].Name + "=" + cookies[0].Value, key, answer.Page.Token}
}

// header returns the headers of the page's requests.
func (p *page) header() http.Header {
	return http.Header{"Cookie": {p.cookie}, auth.PageHeader: {p.token}, "Origin": {p.h.origin()}}
}

// half returns the headers of a client that has only the cookie.
func (p *page) half() http.Header {
	return http.Header{"Cookie": {p.cookie}, "Origin": {p.h.origin()}}
}

// device pairs a new page and returns the headers of its requests.
func (h *hub) device(name string) http.Header {
	h.t.Helper()
	return h.page(name, nil).header()
}

// challenge sends a request with the cookie alone and returns the text that the
// page must sign.
func (p *page) challenge() string {
	p.h.t.Helper()
	res := p.h.do("GET", "/api/health", nil, p.half())
	require.Equal(p.h.t, 401, res.status, res.body)
	var answer struct{ Error struct{ Challenge string } }
	require.NoError(p.h.t, json.Unmarshal([]byte(res.body), &answer))
	return answer.Error.Challenge
}

func (p *page) sign(origin, challenge string) string {
	p.h.t.Helper()
	hash := sha256.Sum256([]byte("abide-page\n" + origin + "\n" + challenge))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, hash[:])
	require.NoError(p.h.t, err)
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (p *page) prove(challenge, signature string) response {
	p.h.t.Helper()
	return p.h.do("POST", "/api/page", map[string]string{"challenge": challenge, "signature": signature}, p.half())
}

// again returns the headers of the page's requests to a restarted hub.
func (p *page) again(h *hub) http.Header {
	h.t.Helper()
	p.h = h
	challenge := p.challenge()
	res := p.prove(challenge, p.sign(h.origin(), challenge))
	require.Equal(h.t, 200, res.status, res.body)
	var answer struct{ Token string }
	require.NoError(h.t, json.Unmarshal([]byte(res.body), &answer))
	p.token = answer.Token
	return p.header()
}

// Fault 78: the cookie, which the browser also sends to other ports of the machine,
// opens nothing by itself, with any forged Origin.
func TestACookieWithoutItsPageOpensNothing(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	p := h.page("laptop", nil)
	other := h.page("phone", nil)
	for name, header := range map[string]http.Header{
		"alone":                      p.half(),
		"as a same-origin GET":       {"Cookie": {p.cookie}, "Sec-Fetch-Site": {"same-origin"}},
		"with another page's token":  {"Cookie": {p.cookie}, "Origin": {h.origin()}, auth.PageHeader: {other.token}},
		"with a challenge as token":  {"Cookie": {p.cookie}, "Origin": {h.origin()}, auth.PageHeader: {p.challenge()}},
		"with itself as the token":   {"Cookie": {p.cookie}, "Origin": {h.origin()}, auth.PageHeader: {strings.SplitN(p.cookie, "=", 2)[1]}},
		"with the token of a socket": {"Cookie": {p.cookie}, "Origin": {h.origin()}, "Sec-Websocket-Protocol": {auth.PageProtocol}},
	} {
		require.Equal(t, 401, h.do("GET", "/api/sessions", nil, header).status, name)
		header.Set("Origin", h.origin()) // every browser sends it with an upgrade
		_, status, err := h.tryDial("/api/ws", header)
		require.Error(t, err, name)
		require.Equal(t, 401, status, name)
	}
	require.Equal(t, 200, h.do("GET", "/api/sessions", nil, p.header()).status)
	h.dialAs("/api/sessions/"+s.ID()+"/ws", p.header())
}

func TestAPageOffersItsTokenAsASubprotocol(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.page("laptop", nil)
	header := p.half()
	header.Set("Sec-Websocket-Protocol", wire.Subprotocol+", "+auth.PageProtocol+p.token)
	header.Set("Connection", "Upgrade")
	header.Set("Upgrade", "websocket")
	header.Set("Sec-WebSocket-Version", "13")
	header.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	req, err := http.NewRequest("GET", h.origin()+"/api/ws", nil)
	require.NoError(t, err)
	req.Header = header
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 101, res.StatusCode)
	require.Equal(t, wire.Subprotocol, res.Header.Get("Sec-WebSocket-Protocol"), "the response repeats the token")
}

func TestAPageSignsAChallengeForItsToken(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.page("laptop", nil)
	challenge := p.challenge()
	res := p.prove(challenge, p.sign(h.origin(), challenge))
	require.Equal(t, 200, res.status, res.body)
	var answer struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(res.body), &answer))
	require.Equal(t, 200, h.do("GET", "/api/health", nil, http.Header{"Cookie": {p.cookie}, auth.PageHeader: {answer.Token}, "Origin": {h.origin()}}).status)

	thief := h.page("another", nil)
	thief.cookie = p.cookie
	require.Equal(t, 401, p.prove(challenge, thief.sign(h.origin(), challenge)).status, "signed with another key")
	require.Equal(t, 401, p.prove(challenge, p.sign("http://127.0.0.1:1", challenge)).status, "signed at another origin")
	require.Equal(t, 401, p.prove("made up", p.sign(h.origin(), "made up")).status, "not the hub's challenge")
	require.Equal(t, 403, h.do("POST", "/api/page", map[string]string{"challenge": challenge}, http.Header{"Cookie": {p.cookie}}).status, "no Origin")
}

// A program that listens on the hub's port while the hub is down receives all that
// a page sends by itself: the cookie, the token, and a signature of any text it
// chooses.
func TestASignatureMadeWhileTheHubIsDownIsRefusedLater(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	p := h.page("laptop", nil)
	challenge := p.challenge()
	h.stop()

	h = startHub(t, hubOptions{dir: dir})
	p.h = h
	require.Equal(t, 401, h.do("GET", "/api/health", nil, p.header()).status, "the token")
	require.Equal(t, 401, p.prove(challenge, p.sign(h.origin(), challenge)).status, "an earlier challenge")
	challenge = p.challenge()
	require.Equal(t, 200, p.prove(challenge, p.sign(h.origin(), challenge)).status, "the page must still work")
}

// Fault 79: cookies of the same name that another port set, before and after the
// hub's own.
func TestACookieOfTheSameNameFromAnotherPortSignsNobodyOut(t *testing.T) {
	h := startHub(t, hubOptions{})
	p := h.page("laptop", nil)
	name, _, _ := strings.Cut(p.cookie, "=")
	header := p.header()
	header.Set("Cookie", name+"=evil; "+name+"=; "+p.cookie+"; "+name+"=evil")
	require.Equal(t, 200, h.do("GET", "/api/health", nil, header).status)
	h.dialAs("/api/ws", header)
}

func TestAnAddressIsSignedForOneBlobAndOneDevice(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	first, err := s.Log().PutBlobFrom(t.Context(), "text/plain", strings.NewReader("first"))
	require.NoError(t, err)
	second, err := s.Log().PutBlobFrom(t.Context(), "text/plain", strings.NewReader("second"))
	require.NoError(t, err)
	p := h.page("laptop", nil)
	path := func(sum string) string { return "/api/sessions/" + s.ID() + "/blobs/" + sum }
	res := h.do("POST", path(first.SHA256)+"/address", nil, p.header())
	require.Equal(t, 200, res.status, res.body)
	var answer struct{ Address string }
	require.NoError(t, json.Unmarshal([]byte(res.body), &answer))
	img := http.Header{"Cookie": {p.cookie}, "Sec-Fetch-Site": {"same-origin"}}

	got := h.do("GET", answer.Address, nil, img)
	require.Equal(t, 200, got.status, got.body)
	require.Equal(t, "first", got.body)
	require.Equal(t, "private, max-age=3600", got.header.Get("Cache-Control"))
	_, signature, _ := strings.Cut(answer.Address, "?")
	require.Equal(t, 401, h.do("GET", path(second.SHA256)+"?"+signature, nil, img).status, "another blob")
	require.Equal(t, 401, h.do("GET", "/api/sessions?"+signature, nil, img).status, "another route")
	require.Equal(t, 401, h.do("POST", path(first.SHA256)+"/address?"+signature, nil, p.half()).status, "a signature allows GET only")
	require.Equal(t, 401, h.do("GET", answer.Address, nil, nil).status, "no cookie")
	require.Equal(t, 401, h.do("GET", answer.Address, nil, h.page("phone", nil).half()).status, "another device")
}

func TestADevicePairedBeforePagesHadKeysIsToldWhy(t *testing.T) {
	h := startHub(t, hubOptions{})
	code, err := h.registry.MintPairingCode()
	require.NoError(t, err)
	secret, _, err := h.registry.Redeem(code, "old", "")
	require.NoError(t, err)
	res := h.do("GET", "/api/health", nil, http.Header{"Cookie": {"abide-" + h.store.HubID() + "=" + secret}, "Origin": {h.origin()}})
	require.Equal(t, 401, res.status)
	require.Contains(t, res.body, "paired by an earlier version")
	require.NotContains(t, res.body, "challenge")
}
