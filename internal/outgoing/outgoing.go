// Package outgoing sends the hub's own requests (push, webhooks) to addresses that
// others named, but never to addresses of this machine or its private network.
//
// The scheme is https; http only to addresses that Allow names. A name is resolved
// once, each address is checked, and a checked address is dialled, so a name that
// changes in between leads nowhere else. Private, loopback, link-local and other
// special addresses are refused unless Allow names them. Redirects are not followed,
// proxies of the environment are not used, a request takes at most 5 s, and request
// and answer have at most 64 KiB, unless the guard says otherwise.
package outgoing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	// MaxBytes bounds a request's body, an answer's headers, and its body if the guard
	// has no other bound.
	MaxBytes = 64 << 10
	// defaultBound is how long a request may take in all.
	defaultBound = 5 * time.Second
)

var (
	// ErrRefused says that the guard does not send there.
	ErrRefused = errors.New("refused by the outgoing guard")
	// ErrTooLarge says that a request or an answer has more than MaxBytes.
	ErrTooLarge = errors.New("too large")

	errPlain = fmt.Errorf("%w: http is only for addresses that outgoing.allow names; use https", ErrRefused)
)

// Guard sends requests. Its methods may be called at any time from any goroutine.
type Guard struct {
	// Allow are address ranges that are not refused and may be reached by http.
	Allow []netip.Prefix
	// Resolve looks a name up; nil is the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// TLS is the transport to start from, for tests with certificates of their own.
	TLS *http.Transport
	// Bound is how long a request may take in all; 0 is 5 s.
	Bound time.Duration
	// Most bounds an answer's body; 0 is MaxBytes.
	Most int64
}

// Public is the guard without Allow: for addresses that were not named by an owner.
func (g *Guard) Public() *Guard {
	public := *g
	public.Allow = nil
	return &public
}

// Check refuses an address to which Send sends nothing, as far as its text says. The
// addresses of a name are looked up when something is sent.
func (g *Guard) Check(address string) error {
	u, err := checkURL(address)
	if err != nil {
		return err
	}
	host, plain := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Scheme == "http"
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		host = "127.0.0.1"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.check(addr, plain)
	}
	if plain && len(g.Allow) == 0 {
		return errPlain
	}
	return nil
}

// Answer is the answer to a request.
type Answer struct {
	// Status is the HTTP status. A redirect is not followed: its 3xx is here.
	Status int
	Header http.Header
	Body   []byte
}

// ParseAllow reads ranges as the configuration has them: CIDR, or one address.
func ParseAllow(texts []string) ([]netip.Prefix, error) {
	var allow []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%q is not an address range such as 10.1.2.0/24", text)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		allow = append(allow, prefix.Masked())
	}
	return allow, nil
}

// Send makes one request of one connection. An address that is refused is ErrRefused.
func (g *Guard) Send(ctx context.Context, method, address string, header http.Header, body []byte) (Answer, error) {
	if len(body) > MaxBytes {
		return Answer{}, fmt.Errorf("send: the request: %w", ErrTooLarge)
	}
	u, err := checkURL(address)
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(g.Bound, defaultBound))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	if header != nil {
		r.Header = header.Clone()
	}
	client := http.Client{
		Transport:     g.transport(u.Scheme == "http"),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	if err != nil {
		return Answer{}, fmt.Errorf("send to %s: %w", u.Hostname(), withoutURL(err))
	}
	defer res.Body.Close()
	most := cmp.Or(g.Most, MaxBytes)
	answer, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err == nil {
		err = ctx.Err() // an answer that was cut off by that may look like a whole one
	}
	if err != nil {
		return Answer{}, fmt.Errorf("read answer of %s: %w", u.Hostname(), err)
	}
	if int64(len(answer)) > most {
		return Answer{}, fmt.Errorf("read answer of %s: %w", u.Hostname(), ErrTooLarge)
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: answer}, nil
}

// withoutURL drops the address from an error: its path may be a secret.
func withoutURL(err error) error {
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}

func checkURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the address cannot be read", ErrRefused)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%w: the address does not begin with https://", ErrRefused)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%w: the address names no host", ErrRefused)
	case u.User != nil:
		return nil, fmt.Errorf("%w: the address has a user or a password in it", ErrRefused)
	}
	return u, nil
}

func (g *Guard) transport(plain bool) *http.Transport {
	t := &http.Transport{}
	if g.TLS != nil {
		t = g.TLS.Clone()
	}
	t.Proxy = nil
	t.DisableKeepAlives = true
	t.DisableCompression = true
	t.MaxResponseHeaderBytes = MaxBytes
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return g.dial(ctx, network, address, plain)
	}
	return t
}

// dial resolves a name, checks the addresses, and connects to a checked one.
func (g *Guard) dial(ctx context.Context, network, address string, plain bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	addrs, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if err := g.check(addr, plain); err != nil {
			return nil, err
		}
	}
	var failed error
	for _, addr := range addrs {
		conn, err := new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	resolve := g.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("resolve %s: no address", host)
	}
	return addrs, nil
}

// check refuses an address that is not public, unless Allow names it.
func (g *Guard) check(addr netip.Addr, plain bool) error {
	addr = addr.Unmap()
	for _, prefix := range g.Allow {
		if prefix.Contains(addr) {
			return nil
		}
	}
	if plain {
		return errPlain
	}
	if !public(addr) {
		return fmt.Errorf("%w: %s is not a public address, and outgoing.allow does not name it", ErrRefused, addr)
	}
	return nil
}
