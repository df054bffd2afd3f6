package server

import (
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"
)

const goingAway = websocket.StatusGoingAway

// clientSet is who is connected, and how many may be.
type clientSet struct {
	running sync.WaitGroup // one for each client's run
	closed  chan struct{}  // closed when nobody is admitted any more

	mu      sync.Mutex
	limits  Limits
	sockets map[*SessionWSClient]struct{}
	places  int // sockets and event streams, those being opened too
	conns   map[net.Conn]struct{}
	closing *ending // set once nobody is admitted any more
}

func newClientSet(l Limits) *clientSet {
	return &clientSet{limits: l, closed: make(chan struct{}), sockets: make(map[*SessionWSClient]struct{}), conns: make(map[net.Conn]struct{})}
}

func (s *clientSet) setLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
}

// take reserves a place for a socket or stream; give it back with leave.
func (s *clientSet) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places >= s.limits.Clients || s.closing != nil {
		return false
	}
	s.places++
	return true
}

func (s *clientSet) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places--
}

// run runs a client that has a place, in a goroutine of its own.
func (s *clientSet) run(c *SessionWSClient, serve func()) {
	s.mu.Lock()
	s.sockets[c] = struct{}{}
	if s.closing != nil { // the hub began to end while the socket was upgraded
		c.end(*s.closing)
	}
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer s.leave()
		defer s.remove(c)
		serve()
	}()
}

func (s *clientSet) remove(c *SessionWSClient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, c)
}

// each calls f for every client, without a lock.
func (s *clientSet) each(f func(*SessionWSClient)) {
	s.mu.Lock()
	list := make([]*SessionWSClient, 0, len(s.sockets))
	for c := range s.sockets {
		list = append(list, c)
	}
	s.mu.Unlock()
	for _, c := range list {
		f(c)
	}
}

// endAll ends every client, and every one that comes later.
func (s *clientSet) endAll(e ending) {
	s.mu.Lock()
	s.closing = &e
	close(s.closed)
	s.mu.Unlock()
	s.each(func(c *SessionWSClient) { c.end(e) })
}

// wait returns when every client is gone.
func (s *clientSet) wait() { s.running.Wait() }

func (s *clientSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places
}

// connState keeps the number of connections within bounds: beyond them a new
// one is closed before it is read. Those that say nothing make room by the
// timeout on a request's head.
func (s *clientSet) connState(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[conn] = struct{}{}
		if len(s.conns) > s.limits.Connections {
			delete(s.conns, conn)
			conn.Close()
		}
	case http.StateHijacked, http.StateClosed:
		delete(s.conns, conn) // sockets are counted as clients
	}
}
