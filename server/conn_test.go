package server_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// rawFollow follows a session from its start over a connection with a small window,
// so that the server needs many writes for a large frame.
func rawFollow(t *testing.T, h *hub, s *session.BackgroundSession) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(64<<10))
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	fmt.Fprintf(conn, "GET /api/sessions/%s/ws?after_seq=0&epoch=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
		s.ID(), s.Log().Epoch(), h.addr, h.token)
	r := bufio.NewReaderSize(conn, 1<<10)
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		if line == "\r\n" {
			return conn, r
		}
	}
}

// rawFrame reads one frame of a server, which is unmasked and not fragmented.
func rawFrame(r io.Reader) (opcode byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	if head[0]&0xf0 != 0x80 || head[1]&0x80 != 0 {
		return 0, nil, fmt.Errorf("a frame begins with %x", head)
	}
	length := uint64(head[1])
	if more := map[byte]int{126: 2, 127: 8}[head[1]]; more > 0 {
		size := make([]byte, 8)
		if _, err := io.ReadFull(r, size[8-more:]); err != nil {
			return 0, nil, err
		}
		length = binary.BigEndian.Uint64(size)
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(r, payload)
	return head[0] & 0x0f, payload, err
}

// eventsOf returns the events of a text frame; nil if it has none.
func eventsOf(t *testing.T, payload []byte) []event.Event {
	t.Helper()
	m, err := wire.DecodeServer(payload)
	require.NoError(t, err, "a frame of %d bytes", len(payload))
	if frame, ok := m.(*wire.Events); ok {
		return frame.Events
	}
	return nil
}

func TestFramesLargerThanTheBufferArriveWholeAndInOrderWithPongsBetween(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3000")
	conn, r := rawFollow(t, h, s)
	var wait sync.WaitGroup
	const pings = 300
	wait.Go(func() {
		for n := range pings {
			// The mask is zero, so the payload is sent unchanged.
			frame := append([]byte{0x89, 0x84, 0, 0, 0, 0}, fmt.Sprintf("%04d", n)...)
			if _, err := conn.Write(frame); err != nil {
				return // the reader below fails then
			}
			if n%10 == 0 {
				time.Sleep(time.Millisecond) // spread the pings over many frames
			}
		}
	})
	defer wait.Wait()
	var all []event.Event
	pongs, between, largest := 0, 0, 0
	want := h.events(s)
	for len(all) < len(want) || pongs < pings {
		opcode, payload, err := rawFrame(r)
		require.NoError(t, err)
		switch opcode {
		case 0xa:
			require.Equal(t, fmt.Sprintf("%04d", pongs), string(payload))
			pongs++
			if n := len(all); n > 0 && n < len(want) {
				between++
			}
		case 0x1:
			largest = max(largest, len(payload))
			for _, e := range eventsOf(t, payload) {
				require.Equal(t, event.Seq(len(all)+1), e.Seq)
				all = append(all, e)
			}
		default:
			t.Fatalf("opcode %x", opcode)
		}
	}
	same(t, want, all)
	require.Greater(t, largest, 32<<10, "the largest frame is too small for this test")
	require.Positive(t, between, "no pong came between events")
}

// A client that stops reading or disconnects in the middle of a large frame has
// received whole frames before it. Later clients receive everything.
func TestAClientThatIsCutOffInALargeFrameLeavesNothingBehind(t *testing.T) {
	h, writes := hubWithLateWrites(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 6000")
	var stuck []*bufio.Reader
	var ends []*lateConn
	for n := range 8 {
		conn, r := rawFollow(t, h, s)
		if n%2 > 0 {
			_, err := r.Peek(1) // the server has begun to send
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			continue
		}
		stuck, ends = append(stuck, r), append(ends, writes.of(t, conn))
	}
	clients := func() int {
		var health struct{ Clients int }
		require.NoError(t, json.Unmarshal([]byte(h.api("GET", "/api/health", nil).body), &health))
		return health.Clients
	}
	require.Eventually(t, func() bool {
		for _, end := range ends {
			end.lapseIfStuck()
		}
		return clients() == 0
	}, patience, 20*time.Millisecond, "the write deadline did not close them")
	want := h.events(s)
	for _, r := range stuck {
		var got []event.Event
		opcode, payload, err := rawFrame(r)
		for ; err == nil && opcode == 0x1; opcode, payload, err = rawFrame(r) {
			got = append(got, eventsOf(t, payload)...)
		}
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed")
		require.Less(t, len(got), len(want), "the client was never stuck")
		same(t, want[:len(got)], got)
	}
	same(t, want, h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=0&epoch=%s", s.ID(), s.Log().Epoch())).collect(0, want[len(want)-1].Seq))
}
