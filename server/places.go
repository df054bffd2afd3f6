package server

import (
	"net"
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
)

// A credential of a collaborator or viewer has a share of the places for sockets
// and streams, and of those for requests. All such credentials together leave a
// quarter of the places to owners.
const (
	shareOfOne = 32 // one thirty-second of the places for each such credential,
	leastShare = 8  // but at least as many as a person has tabs
	reserve    = 4
)

// places counts sockets and event streams by credential, including those being
// opened; another one counts requests. The clientSet's mutex guards it.
type places struct {
	all, others int // others: of collaborators and viewers
	of          map[string]int
}

// take reserves a place for a credential. leave releases it.
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

// noPlace refuses a client without a free place.
func noPlace() *api.Problem {
	return &api.Problem{Code: wire.CodeBusy, Message: "as many clients are connected as may be", RetryAfter: api.RetryLater}
}

// tooManyRequests refuses a request of a credential that has used up its share.
func tooManyRequests() *api.Problem {
	return &api.Problem{Code: wire.CodeBusy, Message: "too many requests of this device or token are under way", RetryAfter: api.RetryLater}
}

// maxViewerFrame limits one message of a viewer, because all that a viewer may send
// is short.
const maxViewerFrame = 64 << 10

// maxFrame returns the size limit of a message of a client with the grant, in
// bytes.
func maxFrame(g auth.Grant) int64 {
	if g.Scope == auth.Viewer {
		return maxViewerFrame
	}
	return wire.MaxClientFrame
}

// connections are the HTTP connections and the order in which to close them for
// others. A connection is known if its last request had a credential. An unknown
// one may be closed at any time, a known one between two requests. The clientSet's
// mutex guards it.
type connections struct {
	open map[net.Conn]*waiting
	// unknown and idle are those that may be closed, longest waiting first.
	unknown, idle queueOf
}

// waiting is a connection and its place in a queueOf.
type waiting struct {
	conn       net.Conn
	known      bool
	in         *queueOf // nil while a request with a credential is running
	prev, next *waiting
}

// queueOf is a list of waiting connections, longest waiting first.
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

// now records a connection's new state. It returns the connection to close if there
// are more than the limit.
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
	case http.StateActive: // the header of a request was read
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

// know records that the connection's request has a credential, so the connection is
// kept.
func (c *connections) know(conn net.Conn) {
	if w := c.open[conn]; w != nil {
		w.known = true
		w.leave()
	}
}

// makeRoom returns the connection to close: the first unknown one, else the one
// that has been idle longest, else the newest.
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
