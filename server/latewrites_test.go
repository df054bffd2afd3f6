package server_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lateWrites is a listener that makes write deadlines pass early. A test can thus
// give the hub a bound that no slow machine reaches.
type lateWrites struct {
	net.Listener
	mu    sync.Mutex
	conns []*lateConn
}

// Accept implements net.Listener.
func (l *lateWrites) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	late := &lateConn{TCPConn: conn.(*net.TCPConn)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, late)
	return late, nil
}

// hubWithLateWrites is a hub whose bound of a write is a minute, and its listener.
func hubWithLateWrites(t *testing.T, o hubOptions) (*hub, *lateWrites) {
	t.Helper()
	late := &lateWrites{}
	o.timing.Write = time.Minute
	o.listen = func(l net.Listener) net.Listener { late.Listener = l; return late }
	return startHub(t, o), late
}

// newest returns the connection that was accepted last.
func (l *lateWrites) newest() *lateConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns[len(l.conns)-1]
}

// of returns the hub's end of a client's connection.
func (l *lateWrites) of(t *testing.T, client net.Conn) *lateConn {
	t.Helper()
	var own *lateConn
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range l.conns {
			if c.RemoteAddr().String() == client.LocalAddr().String() {
				own = c
			}
		}
		return own != nil
	}, patience, time.Millisecond, "the hub has not accepted the connection")
	return own
}

// lateConn is the hub's end of a connection.
type lateConn struct {
	*net.TCPConn
	mu    sync.Mutex
	armed bool      // a write deadline is set
	since time.Time // when the running write began; zero if none runs
	idle  bool      // a deadline passes as soon as its write has ended
}

// SetWriteDeadline implements net.Conn.
func (c *lateConn) SetWriteDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = !at.IsZero()
	return c.TCPConn.SetWriteDeadline(at)
}

// Write implements net.Conn.
func (c *lateConn) Write(p []byte) (int, error) {
	c.note(time.Now())
	defer c.note(time.Time{})
	return c.TCPConn.Write(p)
}

func (c *lateConn) note(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = since
	if since.IsZero() && c.idle {
		c.lapse()
	}
}

// lapse makes the write deadline pass, if there is one. The caller holds mu.
func (c *lateConn) lapse() {
	if c.armed {
		c.TCPConn.SetWriteDeadline(time.Unix(1, 0))
	}
}

// lapseWhenIdle makes each deadline pass as soon as its write has ended.
func (c *lateConn) lapseWhenIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = true
}

// lapseIfStuck makes the deadline of a write pass that the client does not take.
func (c *lateConn) lapseIfStuck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.since.IsZero() && time.Since(c.since) > 100*time.Millisecond {
		c.lapse()
	}
}
