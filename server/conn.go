package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/server/wire"
)

// socketConn is the connection under a WebSocket. The frames of both its writers
// pass through it, one at a time. The library reads, and writes each close frame
// with one call of Write. Messages, pings and pongs are written by send, without the
// library's locks and buffers, which would cost memory for every idle client, and
// without its own limit of 5 s for a control frame, which would close a slow
// connection without a reason.
//
// It limits the time of each write without setting a timer for each: the deadline
// is moved only when less than the limit is left of it. So a write may take between
// one and one and a half times the limit.
//
// If the client does not take a frame within the limit, the kernel gets the rest of
// the frame and a close frame, and the connection is closed. A client that
// continues to read sees the reason.
type socketConn struct {
	net.Conn
	bound time.Duration
	turn  chan struct{} // held while a frame is in flight
	over  atomic.Bool   // nothing more may be read or written

	// Owned by the reading goroutine.
	frames frameCount

	// Owned by the holder of the write turn.
	deadline time.Time
	closing  bool // a close frame was sent: no message may follow it
}

// tcpConn is a *net.TCPConn, or one that embeds it.
type tcpConn interface {
	net.Conn
	syscall.Conn
	SetLinger(seconds int) error
	SetWriteBuffer(bytes int) error
}

func newSocketConn(conn net.Conn, bound time.Duration) *socketConn {
	return &socketConn{Conn: conn, bound: bound, turn: make(chan struct{}, 1)}
}

// Write implements net.Conn for the library: p is a control frame. It waits for the
// turn, which a message in flight releases within the limit.
func (c *socketConn) Write(p []byte) (int, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.closing = c.closing || p[0]&0x0f == opClose
	return c.put(p)
}

// send writes a message. The caller holds the turn.
func (c *socketConn) send(m message) error {
	if c.closing {
		return net.ErrClosed
	}
	_, err := c.put(m)
	return err
}

// put writes a whole frame. The caller holds the turn.
func (c *socketConn) put(frame []byte) (int, error) {
	if c.over.Load() {
		return 0, net.ErrClosed
	}
	if now := time.Now(); c.deadline.Sub(now) < c.bound {
		c.deadline = now.Add(c.bound + c.bound/2)
		if err := c.Conn.SetWriteDeadline(c.deadline); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(frame)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.giveUp(frame[n:], wire.CloseTooSlow, tooSlow)
	}
	return n, err
}

// Read implements net.Conn.
func (c *socketConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.over.Load() { // a part of the input may have been dropped
		return 0, net.ErrClosed
	}
	if !c.frames.take(p[:n]) {
		c.turn <- struct{}{}
		defer func() { <-c.turn }()
		c.giveUp(nil, uint16(websocket.StatusMessageTooBig), "a message of too many frames")
		return 0, net.ErrClosed
	}
	return n, err
}

// giveUp closes the connection at once because the client did not take a frame in
// time. It leaves the kernel the rest of the frame and a close frame with the
// reason. No goroutine or memory of this process waits for the client.
func (c *socketConn) giveUp(rest []byte, code uint16, reason string) {
	tcp, ok := c.Conn.(tcpConn)
	if !ok {
		return
	}
	c.over.Store(true)
	// Bytes that the kernel does not take are lost, and the frame stays incomplete.
	leaveBehind(tcp, [][]byte{rest, closeFrame(code, reason)})
	tcp.Close()
}

// tooSlow is the close reason for a client that did not take a frame in time.
const tooSlow = "too slow"

// Opcodes of control frames.
const (
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

// pingFrame is a server's ping without a payload (RFC 6455, 5.5.2).
var pingFrame = message{0x80 | opPing, 0}

// pongFrame is a server's answer to a ping of at most 125 bytes (RFC 6455, 5.5.3).
func pongFrame(payload []byte) message {
	return append(message{0x80 | opPong, byte(len(payload))}, payload...)
}

// closeFrame is a server's close frame (RFC 6455, 5.5.1). The reason must be short.
func closeFrame(code uint16, reason string) []byte {
	frame := []byte{0x80 | opClose, byte(2 + len(reason))}
	return append(binary.BigEndian.AppendUint16(frame, code), reason...)
}

const (
	// readBuffer is the size of a WebSocket's read buffer in bytes. Most messages
	// of clients fit. Only the start of a larger frame passes through it.
	readBuffer = 128
	// controlBuffer holds the largest control frame, so that the library writes
	// each with one call (RFC 6455, 5.5: 125 bytes and the header).
	controlBuffer = 128
)

// unsentBytes limits the unsent bytes that the kernel holds for one client. Without
// it a client that does not read would get megabytes before it counts as slow.
// Bytes in flight are not limited, so long links are fast.
const unsentBytes = 64 << 10

// hijacker makes the WebSocket library write through a socketConn, and releases
// net/http's larger buffers.
type hijacker struct {
	http.ResponseWriter
	bound time.Duration
	taken *socketConn // set by Hijack
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("taking over the connection: %w", err)
	}
	if tcp, ok := conn.(tcpConn); ok {
		if err := boundUnsent(tcp, unsentBytes); err != nil {
			return nil, nil, fmt.Errorf("taking over the connection: %w", err)
		}
	}
	own := newSocketConn(conn, h.bound)
	h.taken = own
	// The client may have sent frames right after its request: they are already in
	// net/http's buffer and must not be lost.
	early, err := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err != nil {
		return nil, nil, fmt.Errorf("taking over the connection: %w", err)
	}
	own.frames.take(early)
	reader := bufio.NewReaderSize(newReplay(early, own), max(readBuffer, len(early)))
	if _, err := reader.Peek(len(early)); err != nil {
		return nil, nil, fmt.Errorf("taking over the connection: %w", err)
	}
	return own, bufio.NewReadWriter(reader, bufio.NewWriterSize(own, controlBuffer)), nil
}

// replay reads the buffered bytes first, then the connection.
type replay struct {
	early []byte
	conn  net.Conn
}

func newReplay(early []byte, conn net.Conn) *replay {
	return &replay{early: append([]byte(nil), early...), conn: conn}
}

// Read implements io.Reader.
func (r *replay) Read(p []byte) (int, error) {
	if len(r.early) > 0 {
		n := copy(p, r.early)
		r.early = r.early[n:]
		return n, nil
	}
	return r.conn.Read(p)
}
