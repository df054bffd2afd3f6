package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"time"
)

// socketConn is the connection under a WebSocket. It bounds each write without
// touching a timer for each: the deadline is moved only when less than the bound
// is left of it, so a write may take between one bound and one and a half.
type socketConn struct {
	net.Conn
	bound    time.Duration
	deadline time.Time // owned by whoever writes; WebSocket writes one frame at a time
}

// Write implements net.Conn.
func (c *socketConn) Write(p []byte) (int, error) {
	if now := time.Now(); c.deadline.Sub(now) < c.bound {
		c.deadline = now.Add(c.bound + c.bound/2)
		if err := c.Conn.SetWriteDeadline(c.deadline); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// socketBuffer is the size of a WebSocket's buffers. What clients send is
// small; frames larger than the buffer go to the connection directly.
const socketBuffer = 1 << 10

// unsentBytes bounds what the kernel holds for one client beyond what is on its
// way: without it a client that reads nothing would be given megabytes before
// it counts as slow. What is on its way is not bounded, so long links are fast.
const unsentBytes = 64 << 10

// hijacker makes the WebSocket library write through a socketConn and lets go
// of net/http's larger buffers.
type hijacker struct {
	http.ResponseWriter
	bound time.Duration
	taken net.Conn // set by Hijack
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
	own := &socketConn{Conn: conn, bound: h.bound}
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
