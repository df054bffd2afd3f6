package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
)

// liveStream is an event stream as the server sees it that holds it to its grant.
type liveStream struct {
	grant     auth.Grant
	sessionID string
	conn      net.Conn // nil where the request did not come over a connection of Serve
}

// cut ends the stream at once. The bytes that the kernel holds for a slow reader
// are dropped, because its access has ended.
func (s *liveStream) cut() {
	if s.conn == nil {
		return
	}
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) // a connection that is closed already has nothing to drop
	}
	s.conn.Close()
}

// streamSet holds the event streams that are open.
type streamSet struct {
	mu   sync.Mutex
	open map[*liveStream]struct{}
}

func (s *streamSet) add(l *liveStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*liveStream]struct{})
	}
	s.open[l] = struct{}{}
}

func (s *streamSet) remove(l *liveStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, l)
}

// ownEnd is how long a stream whose grant has expired may take to end by itself.
const ownEnd = time.Second

// regrant cuts the streams whose grant the registry does not hold any more.
func (s *streamSet) regrant(registry *auth.Registry) {
	s.mu.Lock()
	list := make([]*liveStream, 0, len(s.open))
	for l := range s.open {
		list = append(list, l)
	}
	s.mu.Unlock()
	for _, l := range list {
		end := l.grant.ExpiresAt
		if over := time.Since(end); !end.IsZero() && over >= 0 && over < ownEnd {
			continue // it says so in order, unless its client reads too slowly
		}
		if stillMay(registry, l.grant, l.sessionID) != nil {
			l.cut()
		}
	}
}

type connKey struct{}

// withConn lets a handler find the connection that its request came over.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// connOf is the connection a request came over; nil if Serve did not take it.
func connOf(r *http.Request) net.Conn {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	return conn
}
