package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
)

// alive returns a function that requires a session to work while other clients
// misbehave.
func alive(t *testing.T, h *hub) func() {
	t.Helper()
	p := h.dial("/api/ws")
	n := 0
	return func() {
		t.Helper()
		n++
		start := time.Now()
		p.send(&wire.Ping{Nonce: fmt.Sprint(n)})
		require.Equal(t, fmt.Sprint(n), find[*wire.Pong](p, nil).Nonce)
		require.Less(t, time.Since(start), patience/3)
	}
}

// Fault 64, slowloris: the hub ends a request whose head or body arrives too
// slowly.
func TestATricklingRequestIsCutOff(t *testing.T) {
	t.Parallel() // it waits for the time limits
	h := startHub(t, hubOptions{timing: server.Timing{Request: 4 * time.Second}})
	check := alive(t, h)
	slow := map[string]net.Conn{}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for name, opening := range map[string]string{
		"head": "GET /api/health HTTP/1.1\r\nHost: " + h.addr + "\r\nX-Slow: ",
		"body": "POST /api/sessions HTTP/1.1\r\nHost: " + h.addr + "\r\nAuthorization: Bearer " + h.token +
			"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		_, err = io.WriteString(conn, opening)
		require.NoError(t, err)
		slow[name] = conn
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					io.WriteString(conn, " ")
				}
			}
		})
	}
	for name, conn := range slow {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err := io.ReadAll(conn)
		// A reset is acceptable, because unread bytes were on their way.
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%s was not cut off", name)
	}
	close(stop)
	wait.Wait()
	for _, conn := range slow {
		conn.Close()
	}
	check()
}

// silent opens connections that send nothing, and counts those that the hub closes.
func silent(t *testing.T, h *hub, n int) (closed *atomic.Int64, leave func()) {
	t.Helper()
	closed = &atomic.Int64{}
	var conns []net.Conn
	var wait sync.WaitGroup
	for range n {
		conn, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		conns = append(conns, conn)
		wait.Go(func() {
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				closed.Add(1)
			}
		})
	}
	return closed, func() {
		for _, conn := range conns {
			conn.Close()
		}
		wait.Wait()
	}
}

// Fault 64: more connections and more sockets than allowed.
func TestMoreConnectionsThanAllowedAreClosedAndOthersLive(t *testing.T) {
	// The request time limit must not close any client here.
	h := startHub(t, hubOptions{limits: server.Limits{Connections: 20}, timing: server.Timing{Request: time.Hour}})
	check := alive(t, h)
	closed, leave := silent(t, h, 200)
	check()
	require.Eventually(t, func() bool { return closed.Load() >= 180 }, patience, 5*time.Millisecond)
	check()
	leave()
}

// Fault 64: the hub closes a silent client to make room for others.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	t.Parallel() // it waits for the time limit
	h := startHub(t, hubOptions{limits: server.Limits{Clients: 5, Connections: 20}, timing: server.Timing{Request: 4 * time.Second}})
	check := alive(t, h)
	closed, leave := silent(t, h, 200)
	defer leave()
	check()
	require.Eventually(t, func() bool { return closed.Load() == 200 }, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool {
		req, err := http.NewRequest("GET", h.origin()+"/api/ready", nil)
		require.NoError(t, err)
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == 200
	}, patience, 50*time.Millisecond)
	for range 4 {
		h.dial("/api/ws")
	}
	_, status, err := h.tryDial("/api/ws", bearer(h.token))
	require.Error(t, err)
	require.Equal(t, 503, status)
	require.Equal(t, 503, h.do("GET", "/api/sessions/"+h.session().ID()+"/events", nil, http.Header{"Authorization": {"Bearer " + h.token}, "Accept": {"text/event-stream"}}).status)
	check()
	h.server.SetLimits(server.Limits{Clients: 6})
	h.dial("/api/ws")
}

// rawSocket opens a WebSocket whose frames a test writes byte by byte.
func rawSocket(t *testing.T, h *hub, extra string) (net.Conn, *bufio.Reader, string) {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /api/ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", h.addr, h.token, extra)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	r := bufio.NewReader(conn)
	head := ""
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		if line == "\r\n" {
			return conn, r, head
		}
		head += line
	}
}

// frameHead is the header of a masked frame with a zero mask.
func frameHead(first byte, length uint64) []byte {
	head := binary.BigEndian.AppendUint64([]byte{first, 0x80 | 127}, length)
	return append(head, 0, 0, 0, 0)
}

// Fault 64: a frame with a length of 1 GiB, and a message of endless fragments.
// Both end with 1009 after 1 MiB.
func TestAHugeFrameAndAFragmentFloodEndAtTheLimit(t *testing.T) {
	h := startHub(t, hubOptions{})
	check := alive(t, h)
	for name, flood := range map[string]func(io.Writer) error{
		"huge frame": func(w io.Writer) error {
			if _, err := w.Write(frameHead(0x81, 1<<30)); err != nil {
				return err
			}
			_, err := io.CopyN(w, endless{}, 1<<30)
			return err
		},
		"fragments": func(w io.Writer) error {
			first := byte(0x01)
			for {
				if _, err := w.Write(append(frameHead(first, 16), make([]byte, 16)...)); err != nil {
					return err
				}
				first = 0x00
			}
		},
	} {
		conn, r, _ := rawSocket(t, h, "")
		var wait sync.WaitGroup
		wait.Go(func() { require.Error(t, flood(conn)) }) // it ends with the connection
		code := closeCode(t, r)
		require.Equal(t, websocket.StatusMessageTooBig, code, name)
		check()
		conn.Close()
		wait.Wait()
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// closeCode reads frames until the close frame and returns its code.
func closeCode(t *testing.T, r *bufio.Reader) websocket.StatusCode {
	t.Helper()
	for {
		head := make([]byte, 2)
		_, err := io.ReadFull(r, head)
		require.NoError(t, err)
		length := int(head[1] & 0x7f)
		switch length {
		case 126:
			var n [2]byte
			_, err = io.ReadFull(r, n[:])
			length = int(binary.BigEndian.Uint16(n[:]))
		case 127:
			var n [8]byte
			_, err = io.ReadFull(r, n[:])
			length = int(binary.BigEndian.Uint64(n[:]))
		}
		require.NoError(t, err)
		payload := make([]byte, length)
		_, err = io.ReadFull(r, payload)
		require.NoError(t, err)
		if head[0]&0x0f == 8 {
			return websocket.StatusCode(binary.BigEndian.Uint16(payload))
		}
	}
}

// Fault 64: the hub offers no compression, so a frame cannot be a compression bomb.
func TestDeflateIsNotOffered(t *testing.T) {
	h := startHub(t, hubOptions{})
	_, _, head := rawSocket(t, h, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n")
	require.NotContains(t, head, "Sec-WebSocket-Extensions")
	conn, r, _ := rawSocket(t, h, "")
	_, err := conn.Write(append(frameHead(0xc1, 1), 'x')) // RSV1: compressed
	require.NoError(t, err)
	require.Equal(t, websocket.StatusProtocolError, closeCode(t, r))
}

// Fault 64: floods of pings, as messages and as control frames. They slow down the
// flooding client and no other.
func TestAPingFloodSlowsDownNobodyElse(t *testing.T) {
	h := startHub(t, hubOptions{})
	check := alive(t, h)
	conn, r, _ := rawSocket(t, h, "")
	messages := h.dial("/api/ws")
	began := time.Now()
	stop := began.Add(time.Second)
	var wait sync.WaitGroup
	wait.Go(func() {
		for time.Now().Before(stop) {
			if _, err := conn.Write([]byte{0x89, 0x80, 0, 0, 0, 0}); err != nil {
				return
			}
		}
	})
	wait.Go(func() { io.Copy(io.Discard, r) })
	sent := 0
	wait.Go(func() {
		ctx, cancel := context.WithDeadline(messages.ctx, stop)
		defer cancel()
		for messages.conn.Write(ctx, websocket.MessageText, []byte(`{"type":"ping","nonce":"flood"}`)) == nil {
			sent++
		}
	})
	received := 0
	wait.Go(func() {
		for {
			_, data, err := messages.conn.Read(messages.ctx)
			if err != nil {
				return
			}
			if strings.Contains(string(data), "flood") {
				received++
			}
		}
	})
	for time.Now().Before(stop) {
		check()
		time.Sleep(20 * time.Millisecond) // the pace of a person
	}
	conn.Close()
	messages.conn.CloseNow()
	wait.Wait()
	allowed := 1000 + 200*(1+int(time.Since(began)/time.Second))
	require.LessOrEqual(t, received, allowed, "of %d sent", sent)
	check()
}

func TestAHeadThatIsTooLargeIsRefused(t *testing.T) {
	h := startHub(t, hubOptions{})
	res := h.do("GET", "/api/health", nil, http.Header{"X-Large": {strings.Repeat("x", 64<<10)}})
	require.Equal(t, 431, res.status)
}

// Fault 64: control frames count against the rate limit like messages. The test
// requires a minimum time for all answers, so a busy machine cannot fail it.
func TestAFloodOfControlFramesIsReadMoreSlowly(t *testing.T) {
	t.Parallel() // it waits for the rate limit
	h := startHub(t, hubOptions{})
	check := alive(t, h)
	readers := map[string]*bufio.Reader{}
	began := time.Now()
	var wait sync.WaitGroup
	for name, opcode := range map[string]byte{"pings": 0x9, "pongs": 0xa} {
		conn, r, _ := rawSocket(t, h, "")
		defer conn.Close()
		readers[name] = r
		wait.Go(func() {
			frames := bytes.Repeat([]byte{0x80 | opcode, 0x80, 0, 0, 0, 0}, 1400) // 1000 at once, 200 a second
			_, err := conn.Write(append(frames, "\x89\x84\x00\x00\x00\x00last"...))
			assert.NoError(t, err)
		})
	}
	for name, r := range readers {
		for seen := ""; !strings.HasSuffix(seen, "\x8a\x04last"); {
			b, err := r.ReadByte()
			require.NoError(t, err)
			if seen += string([]byte{b}); len(seen) > 6 {
				seen = seen[1:]
			}
		}
		require.Greater(t, time.Since(began), 1500*time.Millisecond, name)
	}
	wait.Wait()
	check()
}
