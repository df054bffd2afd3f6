package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
)

// liveStream is an event stream and its grant.
type liveStream struct {
	grant     auth.Grant
	sessionID string
	conn      net.Conn // nil if the request did not come over a connection of Serve
}

// cut ends the stream at once. It drops the bytes that the kernel holds for a slow
// reader, because the access has ended.
func (s *liveStream) cut() {
	if s.conn == nil {
		return
	}
	if tcp, ok := s.conn.(tcpConn); ok {
		tcp.SetLinger(0) // a closed connection has nothing to drop
	}
	s.conn.Close()
}

// streamSet holds the open event streams.
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

// regrant cuts the streams whose grant is no longer in the registry.
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
			continue // it ends with a message unless its client reads too slowly
		}
		if stillMay(registry, l.grant, l.sessionID) != nil {
			l.cut()
		}
	}
}

type connKey struct{}

// withConn lets a handler find the connection of its request.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// connOf returns the connection of a request; nil if it did not come over Serve.
func connOf(r *http.Request) net.Conn {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	return conn
}
