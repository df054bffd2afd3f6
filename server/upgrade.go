package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// socketRoute upgrades to a socket that follows no session yet.
func socketRoute(s *Server, c *call) error { return s.upgrade(c, nil, place{}) }

// sessionSocketRoute upgrades to a socket that follows one session at once, which
// saves a waking client a round trip.
func sessionSocketRoute(s *Server, c *call) error {
	from, err := placeOf(c.r.URL.Query())
	if err != nil {
		return err
	}
	own, err := c.readable()
	if err != nil {
		return err
	}
	return s.upgrade(c, own, from)
}

// upgrade turns an admitted request into a socket. All refusals come before it:
// after the upgrade a browser could not tell the reason.
func (s *Server) upgrade(c *call, own *session.BackgroundSession, from place) error {
	offered := strings.Join(c.r.Header.Values("Sec-WebSocket-Protocol"), ",")
	if offered != "" && !slices.ContainsFunc(strings.Split(offered, ","), func(p string) bool { return strings.TrimSpace(p) == wire.Subprotocol }) {
		return invalid("this hub speaks the subprotocol %s", wire.Subprotocol)
	}
	if !s.clients.take(c.grant) {
		return noPlace()
	}
	hijacked := &hijacker{ResponseWriter: c.w, bound: s.timing.Write}
	conn, err := websocket.Accept(hijacked, c.r, &websocket.AcceptOptions{
		Subprotocols: []string{wire.Subprotocol},
		// The library compares Origin with Host, which DNS rebinding passes.
		// Package auth has already compared both with the hub's own names, exactly.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		// The library has sent a response.
		s.clients.leave(c.grant)
		c.logger().Debug("upgrade failed", "err", err)
		return nil
	}
	conn.SetReadLimit(maxFrame(c.grant))
	id := ""
	if own != nil {
		id = own.ID()
	}
	client := newClient(s, newSocket(conn, hijacked.taken), c.grant, id, c.r.RemoteAddr)
	// Not in this goroutine, because net/http keeps a stack and buffers for it.
	s.clients.run(c.grant, client, func() { client.run(own, from) })
	return nil
}

// placeOf returns the place to follow from, given in a URL.
func placeOf(q url.Values) (place, error) {
	after, err := seqOf(q, "after_seq")
	if err != nil {
		return place{}, err
	}
	tail, err := numberOf(q, "tail")
	if err != nil {
		return place{}, err
	}
	merge := false
	if v := q.Get("merge"); v != "" {
		if merge, err = strconv.ParseBool(v); err != nil {
			return place{}, invalid("merge is neither true nor false")
		}
	}
	return newPlace(after, q.Get("epoch"), tail, merge)
}

// seqOf returns a seq in a URL; nil if absent.
func seqOf(q url.Values, name string) (*event.Seq, error) {
	if !q.Has(name) {
		return nil, nil
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil {
		return nil, invalid("%s is not a seq", name)
	}
	seq := event.Seq(n)
	return &seq, nil
}

func numberOf(q url.Values, name string) (*int, error) {
	if !q.Has(name) {
		return nil, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return nil, invalid("%s is not a number", name)
	}
	return &n, nil
}
