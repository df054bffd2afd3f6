package server

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/search"
)

const (
	defaultHits = 20
	maxHits     = 100
)

// searchAnswer is the result of one search call.
type searchAnswer struct {
	Hits []search.Hit `json:"hits"`
	// NextCursor continues where this call's time or limit ended.
	NextCursor string `json:"next_cursor,omitempty"`
	// Searched is the number of bytes of events that this call read.
	Searched int64 `json:"searched"`
	// Sessions is the number of sessions to search.
	Sessions int `json:"sessions"`
	// SessionsLeft is how many of them are not fully searched yet.
	SessionsLeft int `json:"sessions_left"`
	// Skipped are the sessions that this call could not read fully.
	Skipped []string `json:"skipped,omitempty"`
	// Done means that everything was searched.
	Done bool `json:"done"`
}

func docSearch() doc {
	return doc{
		summary: "Find a text in sessions, newest sessions first. A call ends after about half a second; while done is false, next_cursor continues.",
		out:     searchAnswer{}, status: 200,
		query: []param{
			{"q", "plain text, at most 256 bytes, whatever its case", ""},
			{"limit", "from 1 to 100; 20 when absent", 0},
			{"cursor", "next_cursor of the call before", ""},
		},
	}
}

func searchRoute(s *Server, c *call) error {
	q := c.r.URL.Query()
	limit, err := numberOf(q, "limit")
	if err != nil {
		return err
	}
	request := session.SearchRequest{Text: q.Get("q"), Only: c.grant.SessionID, Limit: defaultHits, Cursor: q.Get("cursor")}
	if limit != nil {
		if *limit < 1 || *limit > maxHits {
			return invalid("limit is not between 1 and %d", maxHits)
		}
		request.Limit = *limit
	}
	if !c.grant.May(auth.Read, request.Only) {
		return forbidden()
	}
	page, err := s.manager.Search(c.r.Context(), request)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, searchAnswer{
		Hits: page.Hits, NextCursor: page.NextCursor, Searched: page.Bytes,
		Skipped:  page.Skipped,
		Sessions: page.Sessions, SessionsLeft: page.Left, Done: page.NextCursor == "",
	})
}
