package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Refusal is why a request was not admitted. Its message is safe to show: it
// says what the requester did, not what the hub knows.
type Refusal struct {
	// Status is the HTTP status: 421, 403, 401 or 429, by the gate that refused.
	Status  int
	Message string
	// RetryAfter is when to try again, with 429.
	RetryAfter time.Duration
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Door checks requests at three gates, always in this order:
//
//  1. Host is one of the hub's own names, exactly (421). This is what stops a
//     page whose name was rebound to this machine.
//  2. Origin, where there is one, is the page's own: the scheme and the very
//     Host asked for (403). A request without one needs a Bearer token, or the
//     browser's word in Sec-Fetch-Site that it is a same-origin GET: browsers
//     send no Origin with those, and pages cannot set that header.
//  3. The credential is good (401): a Bearer token, or the device cookie. Where
//     both are there, the token counts.
//
// Nothing a proxy says about the request counts, nor where it came from: behind
// a tunnel everybody comes from 127.0.0.1.
type Door struct {
	registry *Registry
	hubID    string
	limiter  *limiter
	names    atomic.Pointer[[]string] // allowed Host values
}

// NewDoor returns a door for the hub with that id. Until Names was called it
// admits nobody.
func NewDoor(registry *Registry, hubID string) *Door {
	d := &Door{registry: registry, hubID: hubID, limiter: newLimiter(registry.now)}
	d.names.Store(&[]string{})
	return d
}

// Names sets the Host values the hub answers to: the loopback names with each
// of the ports it listens on, those addresses themselves (host:port), and the
// public names as a browser sends them (with a port unless it is the scheme's
// own). It may be called again at any time.
func (d *Door) Names(listening []string, public []string) {
	names := slices.Clone(listening)
	for _, addr := range listening {
		if _, port, err := net.SplitHostPort(addr); err == nil {
			names = append(names, "127.0.0.1:"+port, "localhost:"+port, "[::1]:"+port)
		}
	}
	for _, name := range public {
		names = append(names, strings.ToLower(name))
	}
	d.names.Store(&names)
}

// Gate is how far a request must have come to be let in.
type Gate int

// The gates, from least to most.
const (
	// OwnHost asks only that the request is addressed to this hub and, if it
	// has an Origin, comes from it: for the page itself, which holds no data.
	OwnHost Gate = iota
	// OwnPage also asks for an Origin: for spending a pairing code.
	OwnPage
	// Credential asks for all three.
	Credential
)

// Admit passes a request through the gates. The grant is the zero Grant below
// Credential. The error is a *Refusal, or ctx's: a request that presented a
// wrong credential too often waits before it is refused.
func (d *Door) Admit(ctx context.Context, r *http.Request, gate Gate) (Grant, error) {
	if !slices.Contains(*d.names.Load(), strings.ToLower(r.Host)) {
		return Grant{}, &Refusal{Status: http.StatusMisdirectedRequest, Message: "this hub does not answer to that name; add it to public_names if it should"}
	}
	token, hasToken := bearer(r)
	if refusal := checkOrigin(r, gate, hasToken); refusal != nil {
		return Grant{}, refusal
	}
	if gate < Credential {
		return Grant{}, nil
	}
	return d.identify(ctx, r, token, hasToken)
}

func (d *Door) identify(ctx context.Context, r *http.Request, token string, hasToken bool) (Grant, error) {
	kind, secret := KindToken, token
	if !hasToken {
		kind = KindDevice
		secret = d.cookieValue(r)
		if secret == "" {
			return Grant{}, &Refusal{Status: http.StatusUnauthorized, Message: "not paired: open the link that “abide pair” prints, or send a Bearer token"}
		}
	}
	grant, err := d.registry.Present(kind, secret)
	if err == nil {
		return grant, nil
	}
	if err := d.limiter.failed(ctx, peer(r)); err != nil {
		return Grant{}, err
	}
	return Grant{}, &Refusal{Status: http.StatusUnauthorized, Message: "the credential is not valid any more: pair again with the link that “abide pair” prints, or make a new token"}
}

// Pair spends a pairing code that came with a request and returns the cookie to
// set, which takes the place of the one the browser presents. An address that
// guessed wrong too often waits for its refusal; a right code never waits, so that
// nobody is locked out by somebody else's guesses. A code has 80 random bits and
// two minutes. The error is a *Refusal, ctx's, or one of the registry's file.
func (d *Door) Pair(ctx context.Context, r *http.Request, code, device string) (*http.Cookie, Grant, error) {
	secret, grant, err := d.registry.Redeem(code, device, d.cookieValue(r))
	if errors.Is(err, ErrUnknown) {
		if err := d.limiter.failed(ctx, peer(r)); err != nil {
			return nil, Grant{}, err
		}
		return nil, Grant{}, &Refusal{Status: http.StatusUnauthorized, Message: "the pairing link was used already or is older than two minutes: “abide pair” prints a fresh one"}
	}
	if err != nil {
		return nil, Grant{}, err
	}
	secure := strings.HasPrefix(r.Header.Get("Origin"), "https://")
	return &http.Cookie{
		Name: d.cookieName(secure), Value: secret, Path: "/", MaxAge: int(DeviceLife / time.Second),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}, grant, nil
}

// cookieName carries the hub's id: cookies ignore ports, so two hubs on one
// machine would overwrite each other's.
func (d *Door) cookieName(secure bool) string {
	if secure {
		return "__Host-abide-" + d.hubID
	}
	return "abide-" + d.hubID
}

func (d *Door) cookieValue(r *http.Request) string {
	for _, secure := range []bool{true, false} {
		if cookie, err := r.Cookie(d.cookieName(secure)); err == nil {
			return cookie.Value
		}
	}
	return ""
}

func checkOrigin(r *http.Request, gate Gate, hasToken bool) *Refusal {
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) > 1:
		return &Refusal{Status: http.StatusForbidden, Message: "more than one Origin"}
	case len(origins) == 1:
		if !ownOrigin(origins[0], r.Host) {
			return &Refusal{Status: http.StatusForbidden, Message: "requests from other origins are refused"}
		}
		return nil
	case gate == OwnHost, gate == Credential && hasToken:
		return nil
	case gate == Credential && sameOriginGet(r):
		return nil
	case gate == Credential && !hasCookie(r):
		return nil // nothing that could be abused; the next gate asks for a credential
	}
	return &Refusal{Status: http.StatusForbidden, Message: "a request without an Origin needs a Bearer token"}
}

// ownOrigin compares exactly. Plain http is the browser's way to a loopback
// name only; a public name is reached through something that speaks TLS.
func ownOrigin(origin, host string) bool {
	origin, host = strings.ToLower(origin), strings.ToLower(host)
	if origin == "https://"+host {
		return true
	}
	return origin == "http://"+host && loopbackName(host)
}

func loopbackName(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && addr.IsLoopback()
}

// sameOriginGet never holds for a WebSocket: browsers send an Origin with
// those, so one without it is not a browser's.
func sameOriginGet(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return r.Header.Get("Sec-Fetch-Site") == "same-origin" && r.Header.Get("Upgrade") == ""
}

func hasCookie(r *http.Request) bool { return r.Header.Get("Cookie") != "" }

// bearer says whether there is an Authorization header at all: a wrong one is
// not looked past for a cookie.
func bearer(r *http.Request) (token string, present bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(token), true
}

// peer is the address failures are counted by: one host, or one IPv6 network,
// whose members one party usually controls.
func peer(r *http.Request) string {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := addr.Addr().Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
