package blackbox_test

import (
	"context"
	bigendian "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// siegeName is the environment variable with the siege's order as JSON.
const siegeName = "ABIDE_BLACKBOX_SIEGE"

// siegeOrder is the order to the attacking process.
type siegeOrder struct {
	Addr, Session, Epoch string
	Viewers              []string // tokens
}

// TestASiegeCostsATurnAndTheOwnerNothing attacks the hub in every way at once: ten
// thousand connections without a credential, and a hundred viewers. Each viewer
// opens as many sockets as it may, does not read them, and sends harmful frames.
func TestASiegeCostsATurnAndTheOwnerNothing(t *testing.T) {
	soak.Only(t, "it takes a minute of a quiet machine")
	program := filepath.Join(t.TempDir(), "abide") // no race detector
	buildProgram(t, program, "../../cmd/abide")
	h := newHub(t, settings{program: program, agents: map[string]agent{"demo": {Command: []string{program, "demo-agent", "--speed", "10"}}}})
	session := h.create("demo")
	owner := h.token()
	order := siegeOrder{Addr: h.addr, Session: session.SessionID, Epoch: session.Epoch}
	for range 100 {
		order.Viewers = append(order.Viewers, h.token("--scope", "viewer", "--session", session.SessionID))
	}
	c := h.screen("owner", session, 0)
	p := newProber(t, h)
	before := residentKiB(t, h.cmd.Process.Pid)
	c.prompt(session.SessionID, "p", "/slow 320") // 32 seconds at ten times the speed

	siege := startSiege(t, order)
	most := before
	var requests roundTrips
	var refused error
	pings := p.during(func() {
		for end := time.Now().Add(30 * time.Second); refused == nil && time.Now().Before(end); {
			var took time.Duration
			took, refused = ownersRequest(h.addr, owner)
			requests = append(requests, took)
			most = max(most, residentKiB(t, h.cmd.Process.Pid))
			time.Sleep(50 * time.Millisecond)
		}
	})
	require.NoError(t, refused, "the owner was refused")
	done := siege.end()
	slices.Sort(requests)
	t.Logf("the owner's requests over new connections: %s; round trips on the owner's socket: %s; memory from %d to %d MiB", requests, pings, before>>10, most>>10)
	t.Logf("the attackers' count: %v", done)
	for what, n := range done {
		require.NotZero(t, n, what)
	}
	// The maximum is only logged: a busy machine has pauses.
	require.Less(t, requests.at(0.99), 500*time.Millisecond)
	require.Less(t, pings.at(0.99), 500*time.Millisecond)
	require.Less(t, most-before, 600<<10, "growth of the hub in KiB")
	c.untilTurnEnds("p")
	log := onDisk(t, h, session.SessionID)
	c.until("the whole log", func(events []event.Event, _ *wire.State) bool { return len(events) >= len(log) })
	requireSame(t, log, c.seen(), "the owner's screen")
}

// ownersRequest sends a request over a new connection and returns its duration.
func ownersRequest(addr, token string) (time.Duration, error) {
	way := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	req, err := http.NewRequest("GET", "http://"+addr+"/api/sessions", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	began := time.Now()
	res, err := way.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("answered %s", res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return time.Since(began), err
}

// siege is a process that attacks until it is told to end.
type siege struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func startSiege(t *testing.T, order siegeOrder) *siege {
	t.Helper()
	told, err := json.Marshal(order)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	s := &siege{t: t, cmd: exec.Command(self)}
	s.cmd.Env = append(os.Environ(), roleName+"=siege", siegeName+"="+string(told))
	s.cmd.Stderr = os.Stderr
	s.in, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	s.out, err = s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	// Real attackers have their own machines, so this process runs at low priority.
	require.NoError(t, syscall.Setpriority(syscall.PRIO_PROCESS, s.cmd.Process.Pid, 10))
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait() // it was killed, unless it had ended
	})
	return s
}

// end ends the siege and returns the count of each attack.
func (s *siege) end() (done map[string]int64) {
	s.t.Helper()
	require.NoError(s.t, s.in.Close())
	require.NoError(s.t, json.NewDecoder(s.out).Decode(&done))
	return done
}

// playSiege is the attacking process.
func playSiege() error {
	var order siegeOrder
	if err := json.Unmarshal([]byte(os.Getenv(siegeName)), &order); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	attacks := order.attacks()
	counts := make([]atomic.Int64, len(attacks))
	var wait sync.WaitGroup
	for i, a := range attacks {
		for n := range a.attackers {
			wait.Go(func() {
				for ctx.Err() == nil {
					if a.attack(ctx, n) == nil {
						counts[i].Add(1)
					}
					rest(ctx, a.pause)
				}
			})
		}
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		cancel()
		return err
	}
	cancel()
	wait.Wait()
	done := make(map[string]int64)
	for i, a := range attacks {
		done[a.name] = counts[i].Load()
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

// attack is one kind of misbehaviour. The hub may always hang up: an attack fails
// only if it cannot begin.
type attack struct {
	name      string
	attackers int
	pause     time.Duration // between two attacks of one attacker
	attack    func(ctx context.Context, n int) error
}

func (o siegeOrder) attacks() []attack {
	head := " HTTP/1.1\r\nHost: " + o.Addr + "\r\n"
	body := "Origin: http://" + o.Addr + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	viewer := func(n int) string { return o.Viewers[n%len(o.Viewers)] }
	frames := func(send func(net.Conn) error) func(context.Context, int) error {
		return func(ctx context.Context, n int) error { return o.frames(ctx, viewer(n), send) }
	}
	return []attack{
		{"silent connections", 4000, 5 * time.Second, func(ctx context.Context, _ int) error { return o.hold(ctx, "") }},
		{"heads without end", 3000, 5 * time.Second, func(ctx context.Context, _ int) error { return o.hold(ctx, "GET /api/sessions"+head+"X-Slow: ") }},
		{"bodies without end", 3000, 5 * time.Second, func(ctx context.Context, _ int) error { return o.hold(ctx, "POST /api/pair"+head+body) }},
		{"viewers who read nothing", 100, time.Second, func(ctx context.Context, n int) error { return o.fillPlaces(ctx, viewer(n)) }},
		{"frames of a gigabyte", 10, 100 * time.Millisecond, frames(func(conn net.Conn) error {
			if _, err := conn.Write(maskedHead(0x81, 1<<30)); err != nil {
				return err
			}
			_, err := io.CopyN(conn, zeros{}, 1<<30)
			return err
		})},
		{"deflate bombs", 10, 100 * time.Millisecond, frames(func(conn net.Conn) error {
			_, err := conn.Write(append(maskedHead(0xc1, 60<<10), make([]byte, 60<<10)...)) // RSV1: "this is compressed"
			return err
		})},
		{"fragments without end", 10, 100 * time.Millisecond, frames(func(conn net.Conn) error {
			for first := byte(0x01); ; first = 0 {
				if _, err := conn.Write(maskedHead(first, 0)); err != nil {
					return err
				}
			}
		})},
		{"ping floods", 10, 100 * time.Millisecond, frames(func(conn net.Conn) error {
			for {
				if _, err := conn.Write(maskedHead(0x89, 0)); err != nil {
					return err
				}
			}
		})},
	}
}

// zeros is an endless reader of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// maskedHead is the header of a client frame with a zero mask.
func maskedHead(first byte, length uint64) []byte {
	head := bigendian.BigEndian.AppendUint64([]byte{first, 0x80 | 127}, length)
	if length < 126 {
		head = []byte{first, 0x80 | byte(length)}
	}
	return append(head, 0, 0, 0, 0)
}

// dial opens a connection that ends with ctx.
func (o siegeOrder) dial(ctx context.Context) (conn net.Conn, leave func(), err error) {
	var dialer net.Dialer
	if conn, err = dialer.DialContext(ctx, "tcp", o.Addr); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return conn, func() { stop(); conn.Close() }, nil
}

// hold sends the beginning of a request, then a byte a second until the hub hangs
// up.
func (o siegeOrder) hold(ctx context.Context, begin string) error {
	conn, leave, err := o.dial(ctx)
	if err != nil {
		return err
	}
	defer leave()
	io.WriteString(conn, begin) // the hub may hang up before it is read
	for ctx.Err() == nil {
		conn.SetReadDeadline(time.Now().Add(time.Second)) // an error shows in the read
		_, err := conn.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if begin != "" {
			io.WriteString(conn, "x")
		}
	}
	return nil
}

// fillPlaces opens sockets until the hub refuses one. It observes the session on
// each from its beginning and does not read for five seconds.
func (o siegeOrder) fillPlaces(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	observe := fmt.Appendf(nil, `{"type":"observe","request_id":"r","session_id":%q,"epoch":%q,"after_seq":0}`, o.Session, o.Epoch)
	opened := 0
	for ; ctx.Err() == nil; opened++ {
		conn, leave, err := o.socket(ctx, token)
		if err != nil {
			break
		}
		defer leave()
		conn.Write(append(maskedHead(0x81, uint64(len(observe))), observe...)) // the hub may have closed it
	}
	<-ctx.Done()
	if opened == 0 {
		return errors.New("no socket could be opened")
	}
	return nil
}

// frames opens a socket and lets send write frames to it until the hub hangs up.
func (o siegeOrder) frames(ctx context.Context, token string, send func(net.Conn) error) error {
	conn, leave, err := o.socket(ctx, token)
	if err != nil {
		return err
	}
	defer leave()
	send(conn) // fails when the hub hangs up
	return nil
}

// socket opens a WebSocket and reads only the status line of the response.
func (o siegeOrder) socket(ctx context.Context, token string) (conn net.Conn, leave func(), err error) {
	if conn, leave, err = o.dial(ctx); err != nil {
		return nil, nil, err
	}
	request := "GET /api/ws HTTP/1.1\r\nHost: " + o.Addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: " + wire.Subprotocol +
		"\r\nAuthorization: Bearer " + token + "\r\n\r\n"
	answer := make([]byte, len("HTTP/1.1 101"))
	if _, err = io.WriteString(conn, request); err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if err == nil && !strings.HasSuffix(string(answer), "101") {
		err = fmt.Errorf("refused: %s", answer)
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return conn, leave, nil
}
