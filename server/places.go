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
// for another: the one that has waited longest without a request. The clientSet's
// mutex guards it.
type connections struct {
	open map[net.Conn]*waiting
	// fresh have sent no request yet, idle have; each in the order of their waiting.
	fresh, idle queueOf
}

// waiting is a connection and its place among those that wait.
type waiting struct {
	conn       net.Conn
	in         *queueOf // nil while a request is under way
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
// there are more than the limit: the longest waiting that never sent a request,
// else the longest idle, else this one.
func (c *connections) now(conn net.Conn, state http.ConnState, limit int) net.Conn {
	w := c.open[conn]
	switch state {
	case http.StateNew:
		w = &waiting{conn: conn}
		c.open[conn] = w
		if len(c.open) > limit {
			return c.makeRoom(w)
		}
		c.fresh.push(w)
	case http.StateActive:
		if w != nil {
			w.leave()
		}
	case http.StateIdle:
		if w != nil {
			w.leave()
			c.idle.push(w)
		}
	case http.StateHijacked, http.StateClosed: // sockets are counted as clients
		if w != nil {
			w.leave()
			delete(c.open, conn)
		}
	}
	return nil
}

func (c *connections) makeRoom(newest *waiting) net.Conn {
	out := c.fresh.first
	if out == nil {
		out = c.idle.first
	}
	if out == nil {
		delete(c.open, newest.conn)
		return newest.conn
	}
	c.fresh.push(newest)
	out.leave()
	delete(c.open, out.conn)
	return out.conn
}
