package search

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// patience is how long a search waits for a slot by default. After that the user has
// given up or searched again.
const patience = 10 * time.Second

// budget is how long one call reads before it returns its results and a cursor.
const budget = 500 * time.Millisecond

// Sessions searches the sessions of a store. At most half of the processors search, so
// that running sessions keep the others. Further searches wait. It is safe for
// concurrent use.
type Sessions struct {
	store    journal.Store
	slots    chan struct{} // holds a value for each search that reads
	patience time.Duration
}

// NewSessions returns a search in which a call waits for a slot for so long at most; 0
// is 10 seconds.
func NewSessions(store journal.Store, longest time.Duration) *Sessions {
	if longest <= 0 {
		longest = patience
	}
	return &Sessions{store: store, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), patience: longest}
}

// Request is a text to search for.
type Request struct {
	Text string
	// Only restricts the search to one session; empty searches all.
	Only string
	// Limit is the maximum number of hits, at least 1.
	Limit int
	// Cursor is the NextCursor of the previous call.
	Cursor string
}

// Page is the result of one call. Its hits are ordered by session, then by event, newest
// first in both. A page without hits need not be the last: its time may have been up.
type Page struct {
	Result
	// NextCursor continues the search; it is empty at the end.
	NextCursor string
	// Sessions is the number of sessions to search. Left is the number not yet fully
	// searched, to show progress.
	Sessions, Left int
}

// Find finds text in prompts, messages and tool titles. A call takes about half a
// second and opens no session. An invalid query is ErrInvalid. If no slot is free
// for 10 seconds it is ErrBusy. If ctx ends, also while waiting, its error is
// returned.
func (a *Sessions) Find(ctx context.Context, r Request) (Page, error) {
	query, err := NewQuery(r.Text, r.Limit, budget)
	if err != nil {
		return Page{}, err
	}
	var from Place
	if r.Cursor != "" {
		data, err := base64.RawURLEncoding.DecodeString(r.Cursor)
		if err != nil || json.Unmarshal(data, &from) != nil || from.SessionID == "" || from.Before < 0 {
			return Page{}, fmt.Errorf("%w: the cursor is not one of a search: leave it out", state.ErrInvalid)
		}
	}
	turn := time.NewTimer(a.patience)
	defer turn.Stop()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return Page{}, ctx.Err()
	case <-turn.C:
		return Page{}, fmt.Errorf("%w: too many searches are under way, try again in a moment", state.ErrBusy)
	}
	sources := a.sources(r.Only)
	found, err := query.Run(ctx, sources, from)
	if err != nil {
		return Page{}, fmt.Errorf("search: %w", err)
	}
	page := Page{Result: found, Sessions: len(sources)}
	if !found.Done {
		for _, s := range sources {
			if s.SessionID <= found.Next.SessionID {
				page.Left++
			}
		}
		data, err := json.Marshal(found.Next)
		if err != nil {
			return Page{}, fmt.Errorf("search: %w", err)
		}
		page.NextCursor = base64.RawURLEncoding.EncodeToString(data)
	}
	return page, nil
}

// sources lists the sessions to search by descending id. Ids begin with the
// creation time, so the order is stable during a search.
func (a *Sessions) sources(only string) []Source {
	var sources []Source
	for md := range a.store.Newest(journal.Place{}) {
		if only != "" && md.SessionID != only {
			continue
		}
		sources = append(sources, Source{SessionID: md.SessionID, Name: md.Name, Lines: func() ([]journal.Part, error) { return a.store.Lines(md.SessionID) }, MaxSeq: md.MaxSeq})
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(b.SessionID, a.SessionID) })
	return sources
}
