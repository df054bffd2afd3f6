package api

import (
	"net/url"
	"strconv"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// socketRows are the routes of this file.
func socketRows() section {
	return section{
		title: "Sockets",
		rows: []route{
			{
				"GET", "/api/ws", auth.Credential, auth.Read, true, socketRoute,
				doc{summary: "Upgrade to a WebSocket, subprotocol " + wire.Subprotocol + "; docs/protocol.md has its frames.", status: 101},
			},
			{
				"GET", one + "/ws", auth.Credential, auth.Read, false, sessionSocketRoute,
				doc{
					summary: "The same socket with this session followed from the start.", status: 101,
					query: []param{
						{"after_seq", "follow after this event", event.Seq(0)},
						{"epoch", "the epoch after_seq belongs to", ""},
						{"tail", "begin with this many of the newest events; 50 when after_seq is absent", 0},
						{"merge", "join runs of chunks of one message while catching up", false},
					},
				},
			},
		},
	}
}

// socketRoute upgrades to a socket that follows no session yet.
func socketRoute(s *API, c *call) error {
	return s.live.Upgrade(c.w, c.r, c.grant, nil, backlog.Place{})
}

// sessionSocketRoute upgrades to a socket that follows one session at once, which
// saves a waking client a round trip.
func sessionSocketRoute(s *API, c *call) error {
	from, err := placeOf(c.r.URL.Query())
	if err != nil {
		return err
	}
	own, err := s.live.Watch(c.r.Context(), c.id())
	if err != nil {
		return err
	}
	return s.live.Upgrade(c.w, c.r, c.grant, own, from)
}

// placeOf returns the place to follow from, given in a URL.
func placeOf(q url.Values) (backlog.Place, error) {
	after, err := seqOf(q, "after_seq")
	if err != nil {
		return backlog.Place{}, err
	}
	tail, err := numberOf(q, "tail")
	if err != nil {
		return backlog.Place{}, err
	}
	merge := false
	if v := q.Get("merge"); v != "" {
		if merge, err = strconv.ParseBool(v); err != nil {
			return backlog.Place{}, Invalid("merge is neither true nor false")
		}
	}
	return backlog.NewPlace(after, q.Get("epoch"), tail, merge)
}

// seqOf returns a seq in a URL; nil if absent.
func seqOf(q url.Values, name string) (*event.Seq, error) {
	if !q.Has(name) {
		return nil, nil
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil {
		return nil, Invalid("%s is not a seq", name)
	}
	seq := event.Seq(n)
	return &seq, nil
}

// limitOf returns the limit in a URL, from 1 to most; absent it is the usual one.
func limitOf(q url.Values, usual, most int) (int, error) {
	limit, err := numberOf(q, "limit")
	switch {
	case err != nil:
		return 0, err
	case limit == nil:
		return usual, nil
	case *limit < 1 || *limit > most:
		return 0, Invalid("limit is not between 1 and %d", most)
	}
	return *limit, nil
}

func numberOf(q url.Values, name string) (*int, error) {
	if !q.Has(name) {
		return nil, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return nil, Invalid("%s is not a number", name)
	}
	return &n, nil
}
