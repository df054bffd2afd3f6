package server

import (
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/internal/auth"
)

const goingAway = websocket.StatusGoingAway

// clientSet holds the connected clients and limits their number.
type clientSet struct {
	running sync.WaitGroup // one for each running client
	closed  chan struct{}  // closed when no more clients are admitted

	mu      sync.Mutex
	limits  Limits
	sockets map[*SessionWSClient]struct{}
	came    int // number of sockets that ever ran
	places  places
	// requests are the running ones. They have the same limit and shares as
	// sockets.
	requests places
	conns    connections
	closing  *ending // set when the server stops admitting clients
}

func newClientSet(l Limits) *clientSet {
	return &clientSet{
		limits: l, closed: make(chan struct{}), sockets: make(map[*SessionWSClient]struct{}),
		places: places{of: make(map[string]int)}, requests: places{of: make(map[string]int)}, conns: connections{open: make(map[net.Conn]*waiting)},
	}
}

func (s *clientSet) setLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
}

// take reserves a place for a socket or stream. leave releases it.
func (s *clientSet) take(g auth.Grant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing != nil || !s.places.take(g, s.limits.Clients) {
		return false
	}
	// This must happen here and not in run: net/http does not wait for a connection
	// that is being upgraded, so wait may have begun by then.
	s.running.Add(1)
	return true
}

// leave releases the place that was taken with the grant.
func (s *clientSet) leave(g auth.Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places.leave(g)
	s.running.Done()
}

// begin reserves a place for an ordinary request. done releases it.
func (s *clientSet) begin(g auth.Grant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests.take(g, s.limits.Clients)
}

func (s *clientSet) done(g auth.Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.leave(g)
}

// run runs a client that took a place with the grant, in a new goroutine.
func (s *clientSet) run(g auth.Grant, c *SessionWSClient, serve func()) {
	s.mu.Lock()
	s.sockets[c] = struct{}{}
	if s.closing != nil { // the server stopped while the socket was upgraded
		c.end(*s.closing)
	}
	s.came++
	s.mu.Unlock()
	go func() {
		defer s.leave(g)
		defer s.remove(c)
		serve()
	}()
}

// everRun returns the number of sockets that ever ran.
func (s *clientSet) everRun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.came
}

func (s *clientSet) remove(c *SessionWSClient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets, c)
}

// each calls f for every client without holding a lock.
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

// endAll ends every client, including later ones.
func (s *clientSet) endAll(e ending) {
	s.mu.Lock()
	s.closing = &e
	close(s.closed)
	s.mu.Unlock()
	s.each(func(c *SessionWSClient) { c.end(e) })
}

// wait returns when all clients have ended.
func (s *clientSet) wait() { s.running.Wait() }

func (s *clientSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places.all
}

// connState limits the number of connections: at the limit, a connection whose last
// request had no credential is closed for a new one.
func (s *clientSet) connState(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	out := s.conns.now(conn, state, s.limits.Connections)
	s.mu.Unlock()
	if out != nil {
		out.Close()
	}
}

// know records that the current request on the connection has a valid credential.
func (s *clientSet) know(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns.know(conn)
}
