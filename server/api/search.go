package api

import (
	"net/http"
	"net/url"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/state"
)

const (
	defaultHits = 20
	maxHits     = 100
)

// searchRows are the routes of this file.
func searchRows() section {
	return section{
		title: "Search",
		about: []string{
			"Words are found in any order in one prompt, message, or tool's title and command, a phrase in double quotes as it is. Parts of words are found, too: `impor` finds importer. Case, the form of Unicode, `*` and backquotes do not count. Of the newest 500 hits those where each word stands alone come first, then those where each begins a word: the sessions by their best hit, then the newest; then the next 500, in which another order may stand once the index was made again. With `session` the newest is first. A `snippet` begins and ends with whole words, or an ellipsis if one is too long. A phrase cut by a sealed file's end is not found.",
		},
		rows: []route{
			{
				"GET", "/api/search", auth.Credential, auth.Read, true, searchRoute,
				doc{
					summary: "Find a text in sessions. A call ends after about half a second; while done is false, next_cursor continues.",
					out:     wire.FoundPage{}, status: 200,
					query: []param{
						{"q", "words and \"phrases\", at most 256 bytes", ""},
						{"session", "search this session only", ""},
						{"project", "sessions with this project root or workspace", ""},
						{"agent", "sessions with this agent", ""},
						{"lifecycle", "sessions with this lifecycle", ""},
						{"kind", "prompt, message or tool", ""},
						{"by", "prompts of this person, by name or id", ""},
						{"from", "what began on this day or later, YYYY-MM-DD, in the hub's time zone", ""},
						{"to", "what began on this day or earlier", ""},
						{"limit", "from 1 to 100; 20 when absent", 0},
						{"cursor", "next_cursor of the call before", ""},
					},
				},
			},
		},
	}
}

func searchRoute(s *API, c *call) error {
	q := c.r.URL.Query()
	limit, err := limitOf(q, defaultHits, maxHits)
	if err != nil {
		return err
	}
	only := c.grant.SessionID
	if asked := q.Get("session"); asked != "" {
		only = asked
	}
	request := search.Request{Text: q.Get("q"), Limit: limit, Cursor: q.Get("cursor")}
	if request.Filter, err = searchFilter(q); err != nil {
		return err
	}
	request.Session = only
	if !c.grant.May(auth.Read, request.Session) {
		return Forbidden()
	}
	if _, _, elsewhere := s.machines.Of(only); elsewhere {
		if _, err := s.live.Watch(c.r.Context(), only); err != nil {
			return err // there is no copy to search
		}
	}
	request.Others = s.copiedSources(request.Filter)
	page, err := s.manager.Search().Find(c.r.Context(), request)
	if err != nil {
		return err
	}
	hits := make([]wire.Hit, len(page.Hits))
	for i, hit := range page.Hits {
		hits[i] = wire.Hit(hit)
	}
	titles := make([]wire.FoundTitle, len(page.Titles))
	for i, t := range page.Titles {
		titles[i] = wire.FoundTitle(t)
	}
	return c.reply(http.StatusOK, wire.FoundPage{
		Titles: titles, Hits: hits, NextCursor: page.NextCursor, Searched: page.Bytes,
		Skipped:  page.Skipped,
		Sessions: page.Sessions, SessionsLeft: page.Left, Done: page.NextCursor == "",
	})
}

// searchFilter reads what a search is restricted to, but for the session.
func searchFilter(q url.Values) (search.Filter, error) {
	f := search.Filter{
		Project: q.Get("project"), Agent: q.Get("agent"), Lifecycle: state.Lifecycle(q.Get("lifecycle")),
		Kind: search.Kind(q.Get("kind")), By: q.Get("by"),
	}
	var err error
	if f.From, err = dayOf(q, "from"); err != nil {
		return f, err
	}
	if f.To, err = dayOf(q, "to"); err != nil {
		return f, err
	}
	if !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1) // the whole day
	}
	return f, f.Check()
}
