package server_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// quickToGiveUp is a hub with a short write deadline.
func quickToGiveUp(t *testing.T) *hub {
	return startHub(t, hubOptions{timing: server.Timing{Write: 300 * time.Millisecond}})
}

// givenUp waits until the hub has no goroutines for clients, and at most files open
// file descriptors.
func (h *hub) givenUp(files int) {
	h.t.Helper()
	stacks := make([]byte, 4<<20)
	require.Eventually(h.t, func() bool {
		goroutines := string(stacks[:runtime.Stack(stacks, true)])
		return h.clients() == 0 && !strings.Contains(goroutines, "SessionWSClient") && !strings.Contains(goroutines, "coder/websocket") && openFiles(h.t) <= files
	}, patience, 20*time.Millisecond, "the client is still held")
}

// clients returns the hub's count of clients.
func (h *hub) clients() int {
	h.t.Helper()
	var health struct{ Clients int }
	require.NoError(h.t, json.Unmarshal([]byte(h.api("GET", "/api/health", nil).body), &health))
	return health.Clients
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// lastWords reads frames up to a close frame, which must be the last one. It
// returns the events and their size in bytes.
func lastWords(t *testing.T, r io.Reader) (events []event.Event, size int) {
	t.Helper()
	for {
		opcode, payload, err := rawFrame(r)
		require.NoError(t, err, "%d events came, and no close frame", len(events))
		if opcode == 0x8 {
			require.EqualValues(t, wire.CloseTooSlow, binary.BigEndian.Uint16(payload))
			require.Equal(t, "too slow", string(payload[2:]))
			_, err := r.Read(make([]byte, 1))
			require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "after the close frame: %v", err)
			return events, size
		}
		if opcode == 0x9 || opcode == 0xA { // a ping, or a pong that was sent before it was stuck
			continue
		}
		require.Equal(t, byte(0x1), opcode)
		events = append(events, eventsOf(t, payload)...)
		size += len(payload)
	}
}

// held bounds the bytes that the kernel may hold for a client that does not read:
// the client's window, unsent bytes, and a frame.
const held = 512 << 10

func TestAClientThatReadsOnAfterTheDeadlineSeesWholeFramesAndThen4008(t *testing.T) {
	h := quickToGiveUp(t)
	s := h.session()
	h.prompt(s, "p1", "say 6000")
	want := h.events(s)
	files := openFiles(t)
	conn, r := rawFollow(t, h, s)
	// The hub does not read these messages while it is stuck. They must not turn
	// the close into a reset.
	for range 100 {
		_, err := conn.Write(append(frameHead(0x81, 27), `{"type":"ping","nonce":"n"}`...))
		require.NoError(t, err)
	}
	h.givenUp(files + 1)
	got, size := lastWords(t, r)
	require.Less(t, len(got), len(want), "the client was never stuck")
	require.Less(t, size, held)
	same(t, want[:len(got)], got)
}

func TestAClientThatWasStoppedAndContinuesSeesWholeFramesAndThen4008(t *testing.T) {
	h := quickToGiveUp(t)
	s := h.session()
	files := openFiles(t)
	conn, r := rawFollow(t, h, s)
	heard, reader := handToCat(t, conn, r)
	require.Eventually(t, func() bool { return bytes.Contains(heard(), []byte(`"turn"`)) }, patience, 5*time.Millisecond, "the state never came")
	require.NoError(t, reader.Signal(syscall.SIGSTOP))
	h.prompt(s, "p1", "say 6000")
	want := h.events(s)
	h.givenUp(files + 2) // the output file and its handle
	require.NoError(t, reader.Signal(syscall.SIGCONT))
	_, err := reader.Wait()
	require.NoError(t, err)
	got, size := lastWords(t, bytes.NewReader(heard()))
	require.Less(t, len(got), len(want), "the client was never stuck")
	require.Less(t, size, held)
	same(t, want[:len(got)], got)
}

// handToCat passes a connection to another process, which reads it to the end.
// heard returns the bytes read: those buffered in r, then the process's.
func handToCat(t *testing.T, conn net.Conn, r *bufio.Reader) (heard func() []byte, reader *os.Process) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "heard")
	out, err := os.Create(path)
	require.NoError(t, err)
	defer out.Close()
	_, err = io.CopyN(out, r, int64(r.Buffered()))
	require.NoError(t, err)
	in, err := conn.(*net.TCPConn).File()
	require.NoError(t, err)
	defer in.Close()
	cat := exec.Command("cat")
	cat.Stdin, cat.Stdout = in, out
	require.NoError(t, cat.Start())
	t.Cleanup(func() { cat.Process.Kill() })
	require.NoError(t, conn.Close())
	return func() []byte {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}, cat.Process
}

// The WebSocket library closes a connection without a word where a ping or a pong of
// its own waits for 5 s. The hub's limit is longer here.
func TestAStuckClientIsTold4008AlsoWhileAPingOrAPongWaits(t *testing.T) {
	for name, of := range map[string]struct {
		ping time.Duration
		then []byte // sent once the client is stuck
	}{
		"the hub's ping was on its way and its pong is owed": {ping: 50 * time.Millisecond},
		"the client's ping is answered":                      {ping: time.Minute, then: frameHead(0x89, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := make(chan net.Conn, 100)
			h := startHub(t, hubOptions{
				timing: server.Timing{Write: 8 * time.Second, Ping: of.ping},
				listen: func(l net.Listener) net.Listener { return &catching{l, accepted} },
			})
			s := h.session()
			h.prompt(s, "p1", "say 6000")
			for len(accepted) > 0 {
				<-accepted
			}
			conn, r, _ := rawSocket(t, h, "")
			stuck := <-accepted
			for opcode := byte(0); of.then == nil && opcode != 0x9; {
				var err error
				opcode, _, err = rawFrame(r)
				require.NoError(t, err)
			}
			observe, err := wire.Encode(&wire.Observe{SessionID: s.ID(), AfterSeq: ptr(event.Seq(0)), Epoch: s.Log().Epoch()})
			require.NoError(t, err)
			_, err = conn.Write(append(frameHead(0x81, uint64(len(observe))), observe...))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return unsent(t, stuck) >= 64<<10 }, patience, time.Millisecond, "it was never stuck")
			_, err = conn.Write(of.then)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return h.clients() == 0 }, patience, 20*time.Millisecond)
			got, _ := lastWords(t, r)
			require.NotEmpty(t, got)
		})
	}
}

// catching keeps the accepted connections of a hub, as many as conns holds.
type catching struct {
	net.Listener
	conns chan net.Conn
}

func (c *catching) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		select {
		case c.conns <- conn:
		default:
		}
	}
	return conn, err
}

// unsent returns the bytes of a connection that the kernel has not sent yet.
func unsent(t *testing.T, conn net.Conn) (bytes int) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var failed error
	require.NoError(t, raw.Control(func(fd uintptr) { bytes, failed = unix.IoctlGetInt(int(fd), unix.SIOCOUTQNSD) }))
	require.NoError(t, failed)
	return bytes
}

func TestOfAClientThatReadsNothingTheKernelHoldsLittleThatIsUnsent(t *testing.T) {
	accepted := make(chan net.Conn, 100)
	h := startHub(t, hubOptions{
		timing: server.Timing{Write: 2 * time.Minute},
		listen: func(l net.Listener) net.Listener { return &catching{l, accepted} },
	})
	s := h.session()
	grow(t, s, 16_000, 1_000)
	for len(accepted) > 0 {
		<-accepted
	}
	rawFollow(t, h, s) // with a window of 64 KiB
	conn := <-accepted
	require.Eventually(t, func() bool { return unsent(t, conn) >= 64<<10 }, patience, time.Millisecond, "it was never stuck")
	// Of one 16 MB write the kernel would take megabytes at once.
	for range 100 {
		require.Less(t, unsent(t, conn), 256<<10)
		time.Sleep(time.Millisecond)
	}
}
