package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
)

type doorFixture struct {
	door   *auth.Door
	cookie *http.Cookie
	grant  auth.Grant
	token  string
	clock  *clock
	reg    *auth.Registry
}

func newDoor(t *testing.T) doorFixture {
	t.Helper()
	c := newClock()
	reg := open(t, t.TempDir(), c)
	door := auth.NewDoor(reg, "hub1")
	door.Names([]string{"127.0.0.1:22433"}, []string{"abide.example.ts.net"})
	code, err := reg.MintPairingCode()
	require.NoError(t, err)
	cookie, grant, err := door.Pair(t.Context(), request("POST", "127.0.0.1:22433", nil), code, "phone", pageKey(t))
	require.NoError(t, err)
	token, _, err := reg.MintToken(auth.TokenRequest{Scope: auth.Owner})
	require.NoError(t, err)
	return doorFixture{door: door, cookie: cookie, grant: grant, token: token, clock: c, reg: reg}
}

// pageKey is the public key of a page.
func pageKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func request(method, host string, header map[string]string) *http.Request {
	r := httptest.NewRequest(method, "http://hub/api/sessions", nil)
	r.Host = host
	r.RemoteAddr = "127.0.0.1:50000"
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

func status(err error) int {
	var refusal *auth.Refusal
	if errors.As(err, &refusal) {
		return refusal.Status
	}
	if err != nil {
		return -1
	}
	return http.StatusOK
}

func TestGatesRefuseInOrder(t *testing.T) {
	f := newDoor(t)
	const (
		host   = "127.0.0.1:22433"
		origin = "http://127.0.0.1:22433"
	)
	good := f.cookie.Name + "=" + f.cookie.Value
	bearer := "Bearer " + f.token
	for _, c := range []struct {
		name   string
		method string
		host   string
		header map[string]string
		want   int
	}{
		{"cookie and own origin", "POST", host, map[string]string{"Cookie": good, "Origin": origin}, 200},
		{"localhost", "GET", "localhost:22433", map[string]string{"Cookie": good, "Origin": "http://localhost:22433"}, 200},
		{"IPv6", "GET", "[::1]:22433", map[string]string{"Cookie": good, "Origin": "http://[::1]:22433"}, 200},
		{"public name over TLS", "GET", "Abide.example.ts.net", map[string]string{"Cookie": "__Host-" + good, "Origin": "https://abide.example.ts.net"}, 200},
		{"token without origin", "POST", host, map[string]string{"Authorization": bearer}, 200},
		{"token with own origin", "POST", host, map[string]string{"Authorization": bearer, "Origin": origin}, 200},
		{"same-origin GET of a browser", "GET", host, map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-origin"}, 200},

		{"rebound name", "GET", "evil.com", map[string]string{"Cookie": good, "Origin": "http://evil.com"}, 421},
		{"rebound name with a token", "GET", "evil.com:22433", map[string]string{"Authorization": bearer}, 421},
		{"right name, wrong port", "GET", "127.0.0.1:22434", map[string]string{"Authorization": bearer}, 421},
		{"no port", "GET", "127.0.0.1", map[string]string{"Authorization": bearer}, 421},
		{"trailing dot", "GET", "localhost.:22433", map[string]string{"Authorization": bearer}, 421},
		{"name with a prefix", "GET", "127.0.0.1.evil.com:22433", map[string]string{"Authorization": bearer}, 421},
		{"another loopback spelling", "GET", "127.1:22433", map[string]string{"Authorization": bearer}, 421},
		{"user in host", "GET", "evil@127.0.0.1:22433", map[string]string{"Authorization": bearer}, 421},
		{"empty host", "GET", "", map[string]string{"Authorization": bearer}, 421},
		{"forwarded host does not count", "GET", "evil.com", map[string]string{"Authorization": bearer, "X-Forwarded-Host": host}, 421},

		{"evil origin", "GET", host, map[string]string{"Cookie": good, "Origin": "https://evil.com"}, 403},
		{"evil origin with a token", "GET", host, map[string]string{"Authorization": bearer, "Origin": "https://evil.com"}, 403},
		{"https on a loopback name, where the hub speaks none", "GET", host, map[string]string{"Cookie": good, "Origin": strings.Replace(origin, "http:", "https:", 1)}, 403},
		{"null origin", "GET", host, map[string]string{"Cookie": good, "Origin": "null"}, 403},
		{"origin with a suffix", "GET", host, map[string]string{"Cookie": good, "Origin": origin + ".evil.com"}, 403},
		{"origin with a longer port", "GET", host, map[string]string{"Cookie": good, "Origin": origin + "1"}, 403},
		{"origin with a prefix", "GET", host, map[string]string{"Cookie": good, "Origin": "http://evil127.0.0.1:22433"}, 403},
		{"origin with a user", "GET", host, map[string]string{"Cookie": good, "Origin": "http://127.0.0.1:22433@evil.com"}, 403},
		{"origin with a path", "GET", host, map[string]string{"Cookie": good, "Origin": origin + "/"}, 403},
		{"another own name than the host", "GET", host, map[string]string{"Cookie": good, "Origin": "http://localhost:22433"}, 403},
		{"public name without TLS", "GET", "abide.example.ts.net", map[string]string{"Cookie": good, "Origin": "http://abide.example.ts.net"}, 403},
		{"empty origin", "GET", host, map[string]string{"Cookie": good, "Origin": ""}, 403},
		{"cookie without origin", "GET", host, map[string]string{"Cookie": good}, 403},
		{"cookie without origin, posting", "POST", host, map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-origin"}, 403},
		{"cookie without origin, cross-site", "GET", host, map[string]string{"Cookie": good, "Sec-Fetch-Site": "cross-site"}, 403},
		{"cookie without origin, same site only", "GET", host, map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-site"}, 403},
		{"socket with cookie, no origin", "GET", host, map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-origin", "Upgrade": "websocket"}, 403},
		{"preflight", "OPTIONS", host, map[string]string{"Origin": "https://evil.com", "Access-Control-Request-Method": "POST"}, 403},

		{"nothing", "GET", host, nil, 401},
		{"own origin alone", "GET", host, map[string]string{"Origin": origin}, 401},
		{"wrong token", "GET", host, map[string]string{"Authorization": "Bearer abide_x"}, 401},
		{"wrong token beside a right cookie", "GET", host, map[string]string{"Authorization": "Bearer x", "Cookie": good, "Origin": origin}, 401},
		{"another scheme", "GET", host, map[string]string{"Authorization": "Basic " + f.token}, 401},
		{"cookie of another hub", "GET", host, map[string]string{"Cookie": "abide-hub2=" + f.cookie.Value, "Origin": origin}, 401},
		{"cookie without __Host- over TLS", "GET", "abide.example.ts.net", map[string]string{"Cookie": good, "Origin": "https://abide.example.ts.net"}, 401},
		{"cookie without __Host- over TLS, same-origin GET", "GET", "abide.example.ts.net", map[string]string{"Cookie": good, "Sec-Fetch-Site": "same-origin"}, 401},
		{"cookie as token", "GET", host, map[string]string{"Authorization": "Bearer " + f.cookie.Value}, 401},
		{"forwarded address does not count", "GET", host, map[string]string{"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.clock.advance(time.Minute) // failures of one case must not delay the next
			r := request(c.method, c.host, c.header)
			token, _ := f.door.PageToken(r, f.grant)
			r.Header.Set(auth.PageHeader, token)
			_, err := f.door.Admit(t.Context(), r, auth.Credential)
			require.Equal(t, c.want, status(err), "%v", err)
		})
	}
}

func TestThePageItselfNeedsNoCredentialButAnOwnHost(t *testing.T) {
	f := newDoor(t)
	for _, c := range []struct {
		name   string
		host   string
		header map[string]string
		gate   auth.Gate
		want   int
	}{
		{"page", "127.0.0.1:22433", nil, auth.OwnHost, 200},
		{"page for a rebound name", "evil.com:22433", nil, auth.OwnHost, 421},
		{"page for another origin", "127.0.0.1:22433", map[string]string{"Origin": "https://evil.com"}, auth.OwnHost, 403},
		{"pairing", "127.0.0.1:22433", map[string]string{"Origin": "http://127.0.0.1:22433"}, auth.OwnPage, 200},
		{"pairing without origin", "127.0.0.1:22433", nil, auth.OwnPage, 403},
		{"pairing without origin, with a token", "127.0.0.1:22433", map[string]string{"Authorization": "Bearer " + f.token}, auth.OwnPage, 403},
		{"pairing from elsewhere", "127.0.0.1:22433", map[string]string{"Origin": "null"}, auth.OwnPage, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := f.door.Admit(t.Context(), request("POST", c.host, c.header), c.gate)
			require.Equal(t, c.want, status(err), "%v", err)
		})
	}
}

func TestCookieIsNamedAfterTheHubAndLocked(t *testing.T) {
	f := newDoor(t)
	require.Equal(t, "abide-hub1", f.cookie.Name)
	require.True(t, f.cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, f.cookie.SameSite)
	require.Equal(t, "/", f.cookie.Path)
	require.Empty(t, f.cookie.Domain)
	require.GreaterOrEqual(t, len(f.cookie.Value), 43, "256 bits")

	code, err := f.reg.MintPairingCode()
	require.NoError(t, err)
	cookie, _, err := f.door.Pair(t.Context(), request("POST", "abide.example.ts.net",
		map[string]string{"Origin": "https://abide.example.ts.net"}), code, "phone", pageKey(t))
	require.NoError(t, err)
	require.Equal(t, "__Host-abide-hub1", cookie.Name)
	require.True(t, cookie.Secure)
}

func TestWrongCodesAreDelayedNotLockedOut(t *testing.T) {
	f := newDoor(t)
	r := request("POST", "127.0.0.1:22433", nil)
	key := pageKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a cancelled context fails any request that would have to wait
	for range 5 {
		_, _, err := f.door.Pair(ctx, r, "guess", "eve", key)
		require.Equal(t, 401, status(err))
	}
	_, _, err := f.door.Pair(ctx, r, "guess", "eve", key)
	require.ErrorIs(t, err, context.Canceled, "the sixth waits")

	code, err := f.reg.MintPairingCode()
	require.NoError(t, err)
	other := request("POST", "127.0.0.1:22433", nil)
	other.RemoteAddr = "127.0.0.2:1"
	_, _, err = f.door.Pair(ctx, other, code, "phone", key)
	require.NoError(t, err, "another address does not wait")

	code, err = f.reg.MintPairingCode()
	require.NoError(t, err)
	_, _, err = f.door.Pair(ctx, r, code, "phone", key)
	require.NoError(t, err, "a right code must not wait after wrong ones")

	f.clock.advance(30 * time.Second)
	_, _, err = f.door.Pair(t.Context(), r, "guess", "eve", key)
	require.Equal(t, 401, status(err), "and no address waits for ever")
}

func TestARightCredentialNeverWaits(t *testing.T) {
	f := newDoor(t)
	wrong := request("GET", "127.0.0.1:22433", map[string]string{"Authorization": "Bearer x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that the delays of wrong codes end at once
	for range 100 {
		_, err := f.door.Admit(ctx, wrong, auth.Credential)
		require.Error(t, err)
	}
	_, err := f.door.Admit(ctx, request("GET", "127.0.0.1:22433", map[string]string{"Authorization": "Bearer " + f.token}), auth.Credential)
	require.NoError(t, err, "with this context it cannot have waited")
}

func TestARevokedDeviceIsToldAtOnce(t *testing.T) {
	f := newDoor(t)
	require.NoError(t, f.reg.Revoke(f.grant.ID))
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a request that would have to wait fails
	for range 100 {
		_, err := f.door.Admit(ctx, request("GET", "127.0.0.1:22433", map[string]string{"Cookie": f.cookie.Name + "=" + f.cookie.Value, "Origin": "http://127.0.0.1:22433"}), auth.Credential)
		require.Equal(t, 401, status(err))
	}
	guess := request("GET", "127.0.0.1:22433", map[string]string{"Cookie": f.cookie.Name + "=guess", "Origin": "http://127.0.0.1:22433"})
	for range 5 {
		_, err := f.door.Admit(ctx, guess, auth.Credential)
		require.Equal(t, 401, status(err))
	}
	_, err := f.door.Admit(ctx, guess, auth.Credential)
	require.ErrorIs(t, err, context.Canceled, "a cookie that the hub never gave out waits")
}

func TestAPageTokenIsForOneDeviceAtOneHostForADay(t *testing.T) {
	f := newDoor(t)
	const host = "127.0.0.1:22433"
	with := func(host, token string) error {
		r := request("POST", host, map[string]string{
			"Cookie": f.cookie.Name + "=" + f.cookie.Value, "Origin": "http://" + host, auth.PageHeader: token,
		})
		_, err := f.door.Admit(t.Context(), r, auth.Credential)
		return err
	}
	token, until := f.door.PageToken(request("GET", host, nil), f.grant)
	require.NoError(t, with(host, token))
	require.Equal(t, 401, status(with("localhost:22433", token)), "another origin")
	other, _ := f.door.PageToken(request("GET", host, nil), auth.Grant{ID: "other"})
	require.Equal(t, 401, status(with(host, other)), "another device")
	for _, wrong := range []string{"", "x", token[1:], token + "AA", "B" + token[1:]} {
		require.Equal(t, 401, status(with(host, wrong)), wrong)
	}
	f.clock.advance(until.Sub(f.clock.now()) - time.Second)
	require.NoError(t, with(host, token))
	f.clock.advance(2 * time.Second)
	require.Equal(t, 401, status(with(host, token)), "a day later")
}
