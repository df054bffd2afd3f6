package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// socketConn is the connection under a WebSocket. It bounds each write without
// touching a timer for each: the deadline is moved only when less than the bound
// is left of it, so a write may take between one bound and one and a half.
//
// It also joins what the library writes of one frame: a buffer full, which
// begins with the header, and then the rest. That is one system call a frame
// instead of two, and one packet where two would do harm; a buffer for whole
// frames would be paid for by every idle client.
//
// When a frame is not taken within the bound, the kernel is left the rest of it and
// a close frame, and the connection is closed: whoever reads on later sees why.
type socketConn struct {
	net.Conn
	bound  time.Duration
	starts *frameStarts
	over   atomic.Bool // nothing more is read or written

	// Owned by whoever writes; WebSocket writes one frame at a time.
	deadline time.Time
	held     *[]byte // the start of a frame whose rest is to come; nil between frames
	parts    [2][]byte
}

// frameStarts lends the connections of one server room for the start of a frame
// while its rest is on its way, so that one that is idle holds none. It is safe
// for concurrent use.
type frameStarts struct{ pool sync.Pool }

func newFrameStarts() *frameStarts {
	return &frameStarts{pool: sync.Pool{New: func() any { b := make([]byte, 0, socketBuffer); return &b }}}
}

// copyOf returns room that holds p; give it back when done.
func (s *frameStarts) copyOf(p []byte) *[]byte {
	room := s.pool.Get().(*[]byte)
	*room = append((*room)[:0], p...)
	return room
}

func (s *frameStarts) giveBack(room *[]byte) { s.pool.Put(room) }

// Write implements net.Conn. It keeps the start of a frame that is not whole
// until the next call, and so reports it as written before it is. The library
// makes that call at once, before anybody else may write, whatever became of the
// connection: so the start never outlives its frame, and a broken connection is
// noticed with the rest.
func (c *socketConn) Write(p []byte) (int, error) {
	if c.over.Load() {
		return 0, net.ErrClosed
	}
	if c.held == nil && len(p) < frameSize(p) {
		c.held = c.starts.copyOf(p)
		return len(p), nil
	}
	if now := time.Now(); c.deadline.Sub(now) < c.bound {
		c.deadline = now.Add(c.bound + c.bound/2)
		if err := c.Conn.SetWriteDeadline(c.deadline); err != nil {
			c.letGo()
			return 0, err
		}
	}
	if c.held != nil {
		return c.writeHeld(p)
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.giveUp(p[n:])
	}
	return n, err
}

// Read implements net.Conn.
func (c *socketConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.over.Load() { // a part of it may have been dropped
		return 0, net.ErrClosed
	}
	return n, err
}

// writeHeld writes the start of the frame and its rest with one writev(2).
func (c *socketConn) writeHeld(rest []byte) (int, error) {
	defer c.letGo()
	start := len(*c.held)
	c.parts = [2][]byte{*c.held, rest}
	buffers := net.Buffers(c.parts[:])
	n, err := buffers.WriteTo(c.Conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.giveUp(buffers...)
	}
	return max(0, int(n)-start), err
}

// giveUp closes the connection on a client that did not take a frame in time, and
// leaves the kernel the rest of the frame and word of why. Neither a goroutine nor
// memory of this process waits for the client to take it.
func (c *socketConn) giveUp(rest ...[]byte) {
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return
	}
	c.over.Store(true)
	// What the kernel does not take, nobody sees: the frame stays cut.
	leaveBehind(tcp, append(rest, closeFrame(wire.CloseTooSlow, tooSlow)))
	tcp.Close()
}

// tooSlow is the reason a client is told that did not take a frame in time.
const tooSlow = "too slow"

// closeFrame is a server's close frame (RFC 6455, 5.5.1); the reason is short.
func closeFrame(code uint16, reason string) []byte {
	frame := []byte{0x88, byte(2 + len(reason))}
	return append(binary.BigEndian.AppendUint16(frame, code), reason...)
}

// letGo gives back the start of a frame that is through, or never will be.
func (c *socketConn) letGo() {
	c.parts = [2][]byte{}
	if c.held != nil {
		c.starts.giveBack(c.held)
		c.held = nil
	}
}

// frameSize is how many bytes the frame has whose header p begins with. Frames
// of a server are not masked (RFC 6455, 5.1).
func frameSize(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch n := int(p[1] & 0x7f); {
	case n == 126 && len(p) >= 4:
		return 4 + int(binary.BigEndian.Uint16(p[2:]))
	case n == 127 && len(p) >= 10:
		return 10 + int(binary.BigEndian.Uint64(p[2:]))
	default:
		return 2 + n
	}
}

// socketBuffer is the size of a WebSocket's buffers. What clients send is
// small; of a larger frame only the start passes through the buffer.
const socketBuffer = 512

// unsentBytes bounds what the kernel holds for one client beyond what is on its
// way: without it a client that reads nothing would be given megabytes before
// it counts as slow. What is on its way is not bounded, so long links are fast.
const unsentBytes = 64 << 10

// hijacker makes the WebSocket library write through a socketConn and lets go
// of net/http's larger buffers.
type hijacker struct {
	http.ResponseWriter
	bound  time.Duration
	starts *frameStarts
	taken  net.Conn // set by Hijack
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
	own := &socketConn{Conn: conn, bound: h.bound, starts: h.starts}
	h.taken = own
	// The client may have sent frames right behind its request: they are in
	// net/http's buffer already and must not be lost.
	early, err := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err != nil {
		return nil, nil, fmt.Errorf("taking over the connection: %w", err)
	}
	reader := bufio.NewReaderSize(newReplay(early, own), max(socketBuffer, len(early)))
	if _, err := reader.Peek(len(early)); err != nil {
		return nil, nil, fmt.Errorf("taking over the connection: %w", err)
	}
	return own, bufio.NewReadWriter(reader, bufio.NewWriterSize(own, socketBuffer)), nil
}

// replay reads what was read before, then the connection.
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
