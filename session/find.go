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

	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

// maxSearches bounds the searches that read files at the same time to half of the
// processors, so that sessions at work keep the others. Another one waits for its
// turn.
func maxSearches() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// searchPatience is how long a search waits for its turn. After that the user has
// given up or asked again.
const searchPatience = 10 * time.Second

// searchBudget is how long one call reads before it answers with its results and
// the place to go on from.
const searchBudget = 500 * time.Millisecond

// SearchRequest asks where a text occurs.
type SearchRequest struct {
	Text string
	// Only is the one session to search; empty searches all.
	Only string
	// Limit is how many hits are wanted, from 1.
	Limit int
	// Cursor is the NextCursor of the call before.
	Cursor string
}

// SearchPage is the result of one call.
type SearchPage struct {
	// Hits are of the newest sessions first, and in each the newest first.
	Hits []search.Hit
	// NextCursor goes on; empty when everything was searched. A page may have
	// no hits and still not be the last: its time was up.
	NextCursor string
	// Skipped are the sessions that could not be read, or only in part.
	Skipped []string
	// Bytes is how much was read.
	Bytes int64
	// Sessions is the number of sessions to search, and Left the number not wholly
	// searched yet, to show progress.
	Sessions, Left int
}

// Search finds text in prompts, messages and tool titles, for about half a second a
// call. It opens no session. ErrInvalid for an invalid query; ctx's error when the
// caller goes away, also while it waits for its turn; ErrBusy when that takes 10
// seconds.
func (m *Manager) Search(ctx context.Context, r SearchRequest) (SearchPage, error) {
	query, err := search.NewQuery(r.Text, r.Limit, searchBudget)
	if errors.Is(err, search.ErrQuery) {
		return SearchPage{}, fmt.Errorf("%w: %s", ErrInvalid, strings.TrimPrefix(err.Error(), search.ErrQuery.Error()+": "))
	}
	var from search.Place
	if r.Cursor != "" {
		data, err := base64.RawURLEncoding.DecodeString(r.Cursor)
		if err != nil || json.Unmarshal(data, &from) != nil || from.SessionID == "" || from.Before < 0 {
			return SearchPage{}, fmt.Errorf("%w: the cursor is not one of a search: leave it out", ErrInvalid)
		}
	}
	turn := time.NewTimer(searchPatience)
	defer turn.Stop()
	select {
	case m.searching <- struct{}{}:
		defer func() { <-m.searching }()
	case <-ctx.Done():
		return SearchPage{}, ctx.Err()
	case <-turn.C:
		return SearchPage{}, fmt.Errorf("%w: too many searches are under way, try again in a moment", ErrBusy)
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

// searchable lists the sessions to search, by id descending: ids begin with the
// time they were made, and do not move while a search goes on.
func (m *Manager) searchable(only string) []search.Source {
	var sources []search.Source
	for md := range m.store.Newest(store.Place{}) {
		if only != "" && md.SessionID != only {
			continue
		}
		dir, err := m.store.SessionDir(md.SessionID)
		if err != nil {
			continue // deleted since
		}
		sources = append(sources, search.Source{SessionID: md.SessionID, Name: md.Name, Dir: dir, MaxSeq: md.MaxSeq})
	}
	slices.SortFunc(sources, func(a, b search.Source) int { return strings.Compare(b.SessionID, a.SessionID) })
	return sources
}
