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
	"time"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/server/wire"
)

// socketConn is the connection under a WebSocket: the frames of both its writers go
// through here, one at a time. The library writes control frames, each with one
// call of Write, and it alone reads; messages are written by send, without the
// locks and buffers of the library, which every idle client would pay for.
//
// It bounds each write without touching a timer for each: the deadline is moved
// only when less than the bound is left of it, so a write may take between one
// bound and one and a half.
//
// When the client does not take a frame within the bound, the kernel is given the
// rest of it and a close frame, and the connection is closed. A client that reads
// on later sees why.
type socketConn struct {
	net.Conn
	bound time.Duration
	turn  chan struct{} // held while a frame is in flight
	over  atomic.Bool   // nothing more is read or written

	// Owned by the reading goroutine.
	frames frameCount

	// Owned by the holder of the write turn.
	deadline time.Time
	closing  bool // a close frame went out: no message follows it
}

func newSocketConn(conn net.Conn, bound time.Duration) *socketConn {
	return &socketConn{Conn: conn, bound: bound, turn: make(chan struct{}, 1)}
}

// Write implements net.Conn for the library: p is a control frame. It waits for
// the turn, which a message in flight gives back within the bound.
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
	if c.over.Load() { // a part of it may have been dropped
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

// giveUp closes the connection at once, as on a client that did not take a frame in
// time, and leaves the kernel the rest of the frame and word of why. Neither a goroutine nor
// memory of this process waits for the client to take it.
func (c *socketConn) giveUp(rest []byte, code uint16, reason string) {
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return
	}
	c.over.Store(true)
	// What the kernel does not take is lost, and the frame stays cut.
	leaveBehind(tcp, [][]byte{rest, closeFrame(code, reason)})
	tcp.Close()
}

// tooSlow is the reason a client is told that did not take a frame in time.
const tooSlow = "too slow"

// opClose is the opcode of a close frame.
const opClose = 0x8

// closeFrame is a server's close frame (RFC 6455, 5.5.1); the reason is short.
func closeFrame(code uint16, reason string) []byte {
	frame := []byte{0x80 | opClose, byte(2 + len(reason))}
	return append(binary.BigEndian.AppendUint16(frame, code), reason...)
}

const (
	// readBuffer is the size of a WebSocket's buffer for reading, in bytes: most
	// messages of clients fit, and of a larger frame only the start passes through
	// it.
	readBuffer = 128
	// controlBuffer holds the largest control frame, so that the library writes
	// each with one call (RFC 6455, 5.5: 125 bytes and the head).
	controlBuffer = 128
)

// unsentBytes bounds the bytes that the kernel holds unsent for one client: without
// it a client that reads nothing would be given megabytes before it counts as slow.
// Bytes in flight are not bounded, so long links are fast.
const unsentBytes = 64 << 10

// hijacker makes the WebSocket library write through a socketConn and lets go
// of net/http's larger buffers.
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
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := boundUnsent(tcp, unsentBytes); err != nil {
			return nil, nil, fmt.Errorf("taking over the connection: %w", err)
		}
	}
	own := newSocketConn(conn, h.bound)
	h.taken = own
	// The client may have sent frames right behind its request: they are in
	// net/http's buffer already and must not be lost.
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

// replay reads the bytes that were read before, then the connection.
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
