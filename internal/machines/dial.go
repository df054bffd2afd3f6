package machines

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

const (
	// dialBound is how long home may take to accept a connection or to answer a join.
	dialBound = 15 * time.Second
	// joinPath and connectPath are where home lets machines in.
	joinPath    = "/api/machines/join"
	connectPath = "/api/machine"
	// RunHeader names the machine's process, TicketHeader has the password at the engine.
	RunHeader    = "Abide-Run"
	TicketHeader = "Abide-Ticket"
	// Subprotocol is that of the socket.
	Subprotocol = "abide.machine"
	linkMark    = "join="
)

// Link is the link of a code at home's address.
func Link(address, code string) string { return address + "/#" + linkMark + code }

// parseLink returns home's address and the code of a link.
func parseLink(link string) (at, code string, err error) {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil || u.Host == "" {
		return "", "", fmt.Errorf("%w: this is not a link to join: make one at home with “abide machines add”", state.ErrInvalid)
	}
	code, is := strings.CutPrefix(u.Fragment, linkMark)
	if !is || code == "" {
		return "", "", fmt.Errorf("%w: the link has no code: it ends with #%s… as “abide machines add” prints it (quote it in a shell)", state.ErrInvalid, linkMark)
	}
	if err := checkAddress(u); err != nil {
		return "", "", err
	}
	return u.Scheme + "://" + u.Host, code, nil
}

// checkAddress refuses what is not https, but for this computer's own addresses.
func checkAddress(u *url.URL) error {
	switch u.Scheme {
	case "https":
		return nil
	case "http":
		name := u.Hostname()
		if addr, err := netip.ParseAddr(name); name == "localhost" || err == nil && addr.IsLoopback() {
			return nil
		}
		return fmt.Errorf("%w: %s is not encrypted: home needs https for other computers, by a tunnel or a proxy", state.ErrInvalid, u.Scheme+"://"+u.Host)
	}
	return fmt.Errorf("%w: home's address begins with https://", state.ErrInvalid)
}

// dialer reaches a home.
type dialer struct {
	url    string
	client *http.Client
}

// dialerTo returns a dialer to a home whose computer accepts a connection within a time.
func dialerTo(at, ca string, reach time.Duration) (*dialer, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: reach}).DialContext
	transport.ForceAttemptHTTP2 = false // WebSocket is of HTTP/1.1
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	transport.DisableKeepAlives = true
	if ca != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%w: the file of certificates: %w", state.ErrInvalid, err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s has no certificate", state.ErrInvalid, ca)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &dialer{url: at, client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("home sends elsewhere: use the address that it names")
	}}}, nil
}

func (d *dialer) join(ctx context.Context, code string, j Joining) (secret string, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	body, _ := json.Marshal(wire.Join{Code: code, ID: j.ID, Name: j.Name, Version: j.Version, Allow: string(j.Allow)})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+joinPath, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	if j.Former != "" {
		r.Header.Set("Authorization", "Bearer "+j.Former)
	}
	resp, err := d.client.Do(r)
	if err != nil {
		return "", fmt.Errorf("%w: home cannot be reached: %w", state.ErrUnavailable, unwrapped(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return "", refusalOf(resp)
	}
	var answer wire.Joined
	if err := json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(&answer); err != nil || answer.Secret == "" {
		return "", errNotHome
	}
	return answer.Secret, nil
}

var errNotHome = fmt.Errorf("%w: what answers there is not abide, or an older one without machines", state.ErrConflict)

// refusalOf is why home refused, in its own words.
func refusalOf(resp *http.Response) error {
	var said wire.Refused
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	_ = json.Unmarshal(data, &said)
	why := words(said.Error.Message)
	kind := state.ErrUnavailable
	switch resp.StatusCode {
	case http.StatusBadRequest:
		kind = state.ErrInvalid
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = state.ErrForbidden
	case http.StatusConflict:
		kind = state.ErrConflict
	case http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed:
		return refusal{errNotHome}
	}
	if why == "" {
		why = words("home answered " + resp.Status)
	}
	err := fmt.Errorf("%w: home says: %s", kind, why)
	if resp.StatusCode >= http.StatusInternalServerError { // also a proxy whose home is away
		return err
	}
	return refusal{err}
}

// unwrapped is a network error without the request's address.
func unwrapped(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// connection is an open socket at home. It is the dialler that the engine's client gets its
// connection from, once.
type connection struct {
	net.Conn
	ticket string
}

// Dial implements nats.CustomDialer.
func (c *connection) Dial(string, string) (net.Conn, error) { return c.Conn, nil }

// SkipTLSHandshake implements nats' optional interface: the socket has its own.
func (c *connection) SkipTLSHandshake() bool { return true }

func (d *dialer) connect(ctx context.Context, id, run, secret string) (*connection, error) {
	bound, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	header := http.Header{}
	header.Set("Authorization", "Bearer "+secret)
	header.Set(RunHeader, run)
	socket, resp, err := websocket.Dial(bound, d.url+connectPath, &websocket.DialOptions{
		HTTPClient: d.client, HTTPHeader: header, Subprotocols: []string{Subprotocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil && resp.StatusCode == http.StatusUpgradeRequired {
			return nil, refusal{fmt.Errorf("%w: a proxy between here and home lets no WebSocket through: it must pass Upgrade and Connection on", state.ErrUnavailable)}
		}
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != nil {
			return nil, refusalOf(resp)
		}
		return nil, fmt.Errorf("%w: home cannot be reached: %w", state.ErrUnavailable, unwrapped(err))
	}
	ticket := resp.Header.Get(TicketHeader)
	if ticket == "" {
		socket.CloseNow()
		return nil, refusal{errNotHome}
	}
	return &connection{Conn: Carried(ctx, socket), ticket: ticket}, nil
}

// Carried is a socket as the connection that it carries. Closing it waits for nothing: the
// other side may be asleep.
func Carried(ctx context.Context, socket *websocket.Conn) net.Conn {
	socket.SetReadLimit(-1) // the engine's protocol has its own limits
	return carried{websocket.NetConn(ctx, socket, websocket.MessageBinary), socket}
}

type carried struct {
	net.Conn
	socket *websocket.Conn
}

// Close implements net.Conn.
func (c carried) Close() error { return c.socket.CloseNow() }
