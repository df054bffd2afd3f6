package session

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/state"
)

// maxSearches limits concurrent searches to half of the processors, so that running
// sessions keep the others. Further searches wait.
func maxSearches() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// searchPatience is how long a search waits for a slot by default. After that the
// user has given up or searched again.
const searchPatience = 10 * time.Second

// searchBudget is how long one call reads before it returns its results and a
// cursor.
const searchBudget = 500 * time.Millisecond

// SearchRequest is a text search.
type SearchRequest struct {
	Text string
	// Only restricts the search to one session; empty searches all.
	Only string
	// Limit is the maximum number of hits, at least 1.
	Limit int
	// Cursor is the NextCursor of the previous call.
	Cursor string
}

// SearchPage is the result of one call.
type SearchPage struct {
	// Hits are ordered by session, then by event, newest first in both.
	Hits []search.Hit
	// NextCursor continues the search; it is empty at the end. A page without hits
	// need not be the last: its time may have been up.
	NextCursor string
	// Skipped are the sessions that could not be read fully.
	Skipped []string
	// Bytes is the number of bytes read.
	Bytes int64
	// Sessions is the number of sessions to search. Left is the number not yet
	// fully searched, to show progress.
	Sessions, Left int
}

// Search finds text in prompts, messages and tool titles. A call takes about half a
// second and opens no session. An invalid query is ErrInvalid. If no slot is free
// for 10 seconds it is ErrBusy. If ctx ends, also while waiting, its error is
// returned.
func (m *Manager) Search(ctx context.Context, r SearchRequest) (SearchPage, error) {
	query, err := search.NewQuery(r.Text, r.Limit, searchBudget)
	if errors.Is(err, search.ErrQuery) {
		return SearchPage{}, fmt.Errorf("%w: %s", state.ErrInvalid, strings.TrimPrefix(err.Error(), search.ErrQuery.Error()+": "))
	}
	var from search.Place
	if r.Cursor != "" {
		data, err := base64.RawURLEncoding.DecodeString(r.Cursor)
		if err != nil || json.Unmarshal(data, &from) != nil || from.SessionID == "" || from.Before < 0 {
			return SearchPage{}, fmt.Errorf("%w: the cursor is not one of a search: leave it out", state.ErrInvalid)
		}
	}
	turn := time.NewTimer(m.searchPatience)
	defer turn.Stop()
	select {
	case m.searching <- struct{}{}:
		defer func() { <-m.searching }()
	case <-ctx.Done():
		return SearchPage{}, ctx.Err()
	case <-turn.C:
		return SearchPage{}, fmt.Errorf("%w: too many searches are under way, try again in a moment", state.ErrBusy)
	}
	sources := m.searchable(r.Only)
	found, err := query.Run(ctx, sources, from)
	if err != nil {
		return SearchPage{}, fmt.Errorf("search: %w", err)
	}
	page := SearchPage{Hits: found.Hits, Skipped: found.Skipped, Bytes: found.Bytes, Sessions: len(sources)}
	if !found.Done {
		for _, s := range sources {
			if s.SessionID <= found.Next.SessionID {
				page.Left++
			}
		}
		data, err := json.Marshal(found.Next)
		if err != nil {
			return SearchPage{}, fmt.Errorf("search: %w", err)
		}
		page.NextCursor = base64.RawURLEncoding.EncodeToString(data)
	}
	return page, nil
}

// searchable lists the sessions to search by descending id. Ids begin with the
// creation time, so the order is stable during a search.
func (m *Manager) searchable(only string) []search.Source {
	var sources []search.Source
	for md := range m.journal.Newest(journal.Place{}) {
		if only != "" && md.SessionID != only {
			continue
		}
		sources = append(sources, search.Source{SessionID: md.SessionID, Name: md.Name, Lines: func() ([]journal.Part, error) { return m.journal.Lines(md.SessionID) }, MaxSeq: md.MaxSeq})
	}
	slices.SortFunc(sources, func(a, b search.Source) int { return strings.Compare(b.SessionID, a.SessionID) })
	return sources
}
