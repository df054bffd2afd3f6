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

// Refusal says why a request was refused. Its message may be shown: it names the
// requester's fault and no secret of the hub.
type Refusal struct {
	// Status is the HTTP status: 421, 403, 401 or 429, by the gate that refused.
	Status  int
	Message string
	// RetryAfter is when to try again, with 429.
	RetryAfter time.Duration
	guess      bool // counts as one for the limiter
	// Ended means, with 401, that the device's sign-in has ended.
	Ended bool
	// Challenge is a text for the page to sign, with 401, when its device's cookie
	// is valid but the page token is missing or invalid.
	Challenge string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Door checks requests at three gates, always in this order:
//
//  1. Host is exactly one of the hub's own names (421). This stops a page whose
//     name was rebound to this machine.
//  2. Origin, if present, is the page's own: the scheme and exactly the requested
//     Host (403). A request without one needs a Bearer token, or a Sec-Fetch-Site
//     header for a same-origin GET: browsers send no Origin with those, and pages
//     cannot set that header.
//  3. The credential is valid (401): a Bearer token, or a device. If both are
//     present, the token counts. A device is its cookie and, because cookies are
//     sent to every port of a host, a page token bound to the origin (ADR 42).
//
// Headers of a proxy and the client's address do not count: behind a tunnel every
// request comes from 127.0.0.1.
type Door struct {
	registry *Registry
	hubID    string
	limiter  *limiter
	seals    *seals
	names    atomic.Pointer[[]string] // allowed Host values
}

// NewDoor returns a door for the hub with that id. It admits no request before
// Names is called.
func NewDoor(registry *Registry, hubID string) *Door {
	d := &Door{registry: registry, hubID: hubID, limiter: newLimiter(registry.now), seals: newSeals(registry.now)}
	d.names.Store(&[]string{})
	return d
}

// Names sets the Host values that the hub accepts: the loopback names with each of
// the ports it listens on, those addresses (host:port), and the public names as a
// browser sends them (with a port unless it is the scheme's default). It may be
// called again at any time.
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

// Address returns the address with which another machine reaches the hub: by the
// name that a browser used, else by the first public name. If there is neither, it
// returns the loopback address that the browser used.
func (d *Door) Address(host string) (address string, loopback bool) {
	if names := *d.names.Load(); !PublicName(host) {
		at := slices.IndexFunc(names, PublicName)
		if at < 0 {
			return "http://" + host, true
		}
		host = names[at]
	}
	return "https://" + host, false
}

// Gate says which checks a route requires.
type Gate int

// The gates, from least to most.
const (
	// OwnHost requires only that the request is addressed to this hub and, if it
	// has an Origin, comes from it: for the page itself, which contains no data.
	OwnHost Gate = iota
	// OwnPage also requires an Origin: for redeeming a pairing code.
	OwnPage
	// Credential requires all three checks.
	Credential
)

// Admit checks a request. The grant is the zero Grant below Credential. The error
// is a *Refusal, or ctx's: after too many wrong credentials a request waits before
// it is refused.
func (d *Door) Admit(ctx context.Context, r *http.Request, gate Gate) (Grant, error) {
	if !slices.Contains(*d.names.Load(), strings.ToLower(r.Host)) {
		return Grant{}, &Refusal{Status: http.StatusMisdirectedRequest, Message: "this hub does not answer to that name; add it to public_names if it should"}
	}
	token, hasToken := Bearer(r)
	if refusal := checkOrigin(r, gate, hasToken); refusal != nil {
		return Grant{}, refusal
	}
	if gate < Credential {
		return Grant{}, nil
	}
	return d.identify(ctx, r, token, hasToken)
}

func (d *Door) identify(ctx context.Context, r *http.Request, token string, hasToken bool) (Grant, error) {
	var grant Grant
	var refusal *Refusal
	if hasToken {
		grant, refusal = d.token(token)
	} else {
		grant, refusal = d.device(r)
	}
	if refusal == nil {
		return grant, nil
	}
	if refusal.guess {
		if err := d.limiter.failed(ctx, peer(r)); err != nil {
			return Grant{}, err
		}
	}
	return Grant{}, refusal
}

func (d *Door) token(secret string) (Grant, *Refusal) {
	grant, err := d.registry.Present(KindToken, secret)
	if err != nil {
		return Grant{}, &Refusal{Status: http.StatusUnauthorized, guess: true, Message: "the token is invalid, revoked or expired: make a new one with “abide token”"}
	}
	return grant, nil
}

// device returns the device of a request's cookies and checks the page token.
func (d *Door) device(r *http.Request) (Grant, *Refusal) {
	known, refusal := d.devices(r)
	if refusal != nil {
		return Grant{}, refusal
	}
	host := strings.ToLower(r.Host)
	for _, grant := range known {
		if d.seals.good(pageToken(r), "page", grant.ID, host) {
			return grant, nil
		}
		if signature := addressSignature(r); signature != "" && d.seals.good(signature, "address", grant.ID, host, r.URL.EscapedPath()) {
			return grant, nil
		}
	}
	challenge, _ := d.seals.make(challengeLife, "challenge", host)
	return Grant{}, &Refusal{
		Status: http.StatusUnauthorized, Challenge: challenge,
		Message: "the cookie of a device is half of its credential: sign the challenge, POST it to /api/page, and send the token you get with each request",
	}
}

// devices lists the paired devices with a page key whose cookies a request has: at
// least one, or it returns a refusal.
func (d *Door) devices(r *http.Request) ([]Grant, *Refusal) {
	cookies := d.cookies(r)
	if len(cookies) == 0 {
		return nil, &Refusal{Status: http.StatusUnauthorized, Message: "not paired: open the link that “abide pair” prints, or send a Bearer token"}
	}
	var known []Grant
	keyless := false
	for _, cookie := range cookies {
		grant, err := d.registry.Present(KindDevice, cookie)
		switch {
		case err != nil:
		case grant.PageKey == "":
			keyless = true
		default:
			known = append(known, grant)
		}
	}
	switch {
	case len(known) > 0:
		return known, nil
	case keyless:
		return nil, &Refusal{Status: http.StatusUnauthorized, Message: "this device was paired by an earlier version, which kept no key in the browser beside the cookie: pair it again with the link that “abide pair” prints"}
	}
	// A page with an ended cookie asks several times, in each tab. It is refused
	// without delay.
	guess := !slices.ContainsFunc(cookies, d.registry.Ended)
	return nil, &Refusal{Status: http.StatusUnauthorized, Ended: true, guess: guess, Message: "this device was signed out or its access expired: pair it again with the link that “abide pair” prints"}
}

// Prove exchanges a signed challenge, sent with the cookie, for a page token and
// its expiry. The error is a *Refusal, or ctx's.
func (d *Door) Prove(ctx context.Context, r *http.Request, challenge, signature string) (token string, until time.Time, err error) {
	known, refusal := d.devices(r)
	host := strings.ToLower(r.Host)
	if refusal == nil && !d.seals.good(challenge, "challenge", host) {
		fresh, _ := d.seals.make(challengeLife, "challenge", host)
		return "", time.Time{}, &Refusal{Status: http.StatusUnauthorized, Challenge: fresh, Message: "the challenge is not the hub's, or not any more: sign this one"}
	}
	text := signedText(r.Header.Get("Origin"), challenge)
	for _, grant := range known {
		if signed(grant.PageKey, text, signature) {
			token, until := d.PageToken(r, grant)
			return token, until, nil
		}
	}
	if refusal == nil {
		refusal = &Refusal{Status: http.StatusUnauthorized, guess: true, Message: "the challenge was not signed with the key that this device was paired with: pair it again with the link that “abide pair” prints"}
	}
	if refusal.guess {
		if err := d.limiter.failed(ctx, peer(r)); err != nil {
			return "", time.Time{}, err
		}
	}
	return "", time.Time{}, refusal
}

// PageToken makes a page token for a device at the host of the request, and returns
// its expiry.
func (d *Door) PageToken(r *http.Request, device Grant) (token string, until time.Time) {
	return d.seals.make(PageLife, "page", device.ID, strings.ToLower(r.Host))
}

// SignAddress returns an address of the hub that a browser may fetch without a page
// token, as for an image or a download, and its expiry. The device's cookie is
// needed too. The path is escaped, as in a URL.
func (d *Door) SignAddress(r *http.Request, device Grant, path string) (address string, until time.Time) {
	seal, until := d.seals.make(AddressLife, "address", device.ID, strings.ToLower(r.Host), path)
	return path + "?" + addressParam + "=" + seal, until
}

// Pair redeems a pairing code and returns the cookie to set, which replaces those
// that the browser presents. The key is the page's public key, the other half of
// the credential. After too many wrong codes from an address, its refusals are
// delayed. A right code is never delayed, so that another person's guesses do
// not lock people out. A code has 80 random bits and is valid for two minutes. The error is
// a *Refusal, ctx's, ErrInvalid, or one of the registry's file.
func (d *Door) Pair(ctx context.Context, r *http.Request, code, device, key string) (*http.Cookie, Grant, error) {
	if _, err := parsePageKey(key); err != nil {
		return nil, Grant{}, err
	}
	secret, grant, err := d.registry.Redeem(code, device, key, d.cookies(r)...)
	if errors.Is(err, ErrUnknown) {
		if err := d.limiter.failed(ctx, peer(r)); err != nil {
			return nil, Grant{}, err
		}
		return nil, Grant{}, &Refusal{Status: http.StatusUnauthorized, Message: "this link has expired or was already used; run `abide pair` for a new one"}
	}
	if err != nil {
		return nil, Grant{}, err
	}
	cookie := d.cookie(r, secret)
	cookie.MaxAge = int(DeviceLife / time.Second)
	return cookie, grant, nil
}

// Guessed records a wrong secret of another kind, and returns when the refusal may
// be sent to its address. The error is a *Refusal, or ctx's.
func (d *Door) Guessed(ctx context.Context, r *http.Request) error {
	return d.limiter.failed(ctx, peer(r))
}

// SignOut returns a Set-Cookie that deletes the browser's cookie.
func (d *Door) SignOut(r *http.Request) *http.Cookie {
	cookie := d.cookie(r, "")
	cookie.MaxAge = -1
	return cookie
}

func (d *Door) cookie(r *http.Request, value string) *http.Cookie {
	secure := overTLS(r)
	return &http.Cookie{
		Name: d.cookieName(secure), Value: value, Path: "/",
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}

// overTLS reports whether the browser used https, as far as a request shows:
// ownOrigin allows plain http for loopback names only.
func overTLS(r *http.Request) bool { return r.TLS != nil || PublicName(r.Host) }

// cookieName includes the hub's id: cookies ignore ports, so two hubs on one
// machine would overwrite each other's.
func (d *Door) cookieName(secure bool) string {
	if secure {
		return "__Host-abide-" + d.hubID
	}
	return "abide-" + d.hubID
}

// cookies lists the values of every cookie with the hub's name: another port may
// have set one too. Over https only those with the prefix __Host- count, which
// pages of plain http cannot set.
func (d *Door) cookies(r *http.Request) []string {
	found := r.CookiesNamed(d.cookieName(true))
	if !overTLS(r) {
		found = append(found, r.CookiesNamed(d.cookieName(false))...)
	}
	var values []string
	for _, cookie := range found {
		if cookie.Value != "" {
			values = append(values, cookie.Value)
		}
	}
	return values
}

// pageToken returns the page token of a request; empty if there is none.
func pageToken(r *http.Request) string {
	if token := r.Header.Get(PageHeader); token != "" {
		return token
	}
	for _, offered := range strings.Split(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
		if token, found := strings.CutPrefix(strings.TrimSpace(offered), PageProtocol); found {
			return token
		}
	}
	return ""
}

// addressSignature returns the signature of a signed address, which only allows
// reads.
func addressSignature(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
		return ""
	}
	return r.URL.Query().Get(addressParam)
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
		return nil // it cannot be abused; the next gate requires a credential
	}
	return &Refusal{Status: http.StatusForbidden, Message: "a request without an Origin needs a Bearer token"}
}

// ownOrigin compares exactly. A loopback name must use plain http, because the hub
// has no TLS; a public name must use https, through a proxy.
func ownOrigin(origin, host string) bool {
	origin, host = strings.ToLower(origin), strings.ToLower(host)
	if loopbackName(host) {
		return origin == "http://"+host
	}
	return origin == "https://"+host
}

// PublicName reports whether a Host is reachable from other machines, for which
// https is required.
func PublicName(host string) bool { return !loopbackName(host) }

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

// sameOriginGet is never true for a WebSocket: browsers send an Origin with those,
// so one without it does not come from a browser.
func sameOriginGet(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return r.Header.Get("Sec-Fetch-Site") == "same-origin" && r.Header.Get("Upgrade") == ""
}

func hasCookie(r *http.Request) bool { return r.Header.Get("Cookie") != "" }

// Bearer returns a request's token, and whether there is an Authorization header at all: if it is wrong, a
// cookie does not count.
func Bearer(r *http.Request) (token string, present bool) {
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

// peer is the address by which failures are counted: one host, or one IPv6 network,
// because one party usually controls the whole network.
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
