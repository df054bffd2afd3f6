package server

import (
	"net"
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// A credential that is not an owner's has a share of the places for sockets and
// streams, and of those for requests, and all of those together leave a quarter of them to owners.
const (
	shareOfOne = 32 // one thirty-second of the places for each such credential,
	leastShare = 8  // but at least as many as a person has tabs
	reserve    = 4
)

// places counts sockets and event streams, those being opened too, or requests by
// credential.
// The clientSet's mutex guards it.
type places struct {
	all, others int // others: of credentials that are not an owner's
	of          map[string]int
}

// take reserves a place for a credential; give it back with leave.
func (p *places) take(g auth.Grant, limit int) bool {
	if p.all >= limit {
		return false
	}
	if g.Scope != auth.Owner {
		if p.of[g.ID] >= max(leastShare, limit/shareOfOne) || p.others >= limit-limit/reserve {
			return false
		}
		p.others++
		p.of[g.ID]++
	}
	p.all++
	return true
}

func (p *places) leave(g auth.Grant) {
	p.all--
	if g.Scope == auth.Owner {
		return
	}
	p.others--
	if p.of[g.ID]--; p.of[g.ID] == 0 {
		delete(p.of, g.ID)
	}
}

// noPlace refuses a client for which there is no place.
func noPlace() *problem {
	return &problem{code: wire.CodeBusy, message: "as many clients are connected as may be", retryAfter: retryLater}
}

// tooManyRequests refuses a request of a credential that has its share under way.
func tooManyRequests() *problem {
	return &problem{code: wire.CodeBusy, message: "too many requests of this device or token are under way", retryAfter: retryLater}
}

// maxViewerFrame bounds one message of a viewer: all that a viewer may send is short.
const maxViewerFrame = 64 << 10

// maxFrame bounds one message of a client with the grant, in bytes.
func maxFrame(g auth.Grant) int64 {
	if g.Scope == auth.Viewer {
		return maxViewerFrame
	}
	return wire.MaxClientFrame
}

// connections are the connections that carry requests, and which of them to close
// for another. A connection is known while its last request brought a credential.
// One that is not known may be closed at any time, a known one between two requests.
// The clientSet's mutex guards it.
type connections struct {
	open map[net.Conn]*waiting
	// unknown and idle are those that may be closed, the longest waiting first.
	unknown, idle queueOf
}

// waiting is a connection and its place among those that may be closed.
type waiting struct {
	conn       net.Conn
	known      bool
	in         *queueOf // nil while a request with a credential is under way
	prev, next *waiting
}

// queueOf is a list of waiting connections, the longest waiting first.
type queueOf struct{ first, last *waiting }

func (q *queueOf) push(w *waiting) {
	w.in, w.prev, w.next = q, q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
}

func (w *waiting) leave() {
	q := w.in
	if q == nil {
		return
	}
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.in, w.prev, w.next = nil, nil, nil
}

// now takes a connection's new state, and returns the connection to close, if
// there are more than the limit.
func (c *connections) now(conn net.Conn, state http.ConnState, limit int) net.Conn {
	w := c.open[conn]
	if w == nil && state != http.StateNew {
		return nil
	}
	switch state {
	case http.StateNew:
		w = &waiting{conn: conn}
		c.open[conn] = w
		var out net.Conn
		if len(c.open) > limit {
			out = c.makeRoom(w)
		}
		if out != conn {
			c.unknown.push(w)
		}
		return out
	case http.StateActive: // the head of a request was read
		if w.known {
			w.known = false
			w.leave()
			c.unknown.push(w)
		}
	case http.StateIdle:
		if w.known {
			c.idle.push(w)
		}
	case http.StateHijacked, http.StateClosed: // sockets are counted as clients
		w.leave()
		delete(c.open, conn)
	}
	return nil
}

// know keeps a connection open: its request brought a credential.
func (c *connections) know(conn net.Conn) {
	if w := c.open[conn]; w != nil {
		w.known = true
		w.leave()
	}
}

// makeRoom chooses the connection to close: the unknown one that came first, else
// the longest idle, else the newest.
func (c *connections) makeRoom(newest *waiting) net.Conn {
	out := c.unknown.first
	if out == nil {
		out = c.idle.first
	}
	if out == nil {
		out = newest
	}
	out.leave()
	delete(c.open, out.conn)
	return out.conn
}
