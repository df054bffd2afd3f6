package search

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
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

// Sessions searches the sessions of a store: by the index, and in their files as far as the
// index does not have them. At most half of the processors search, so that running sessions
// keep the others. Further searches wait. It is safe for concurrent use.
type Sessions struct {
	Options
	slots chan struct{} // holds a value for each search that reads
}

// Options are what Sessions search with. Store is required.
type Options struct {
	Store journal.Store
	// Patience is how long a call waits for a slot; 0 is 10 seconds.
	Patience time.Duration
	// Index is nil if there is none.
	Index Index
	// Lifecycle tells how far a session is. Without it none is found by that.
	Lifecycle func(journal.Metadata) state.Lifecycle
	// Logger is told of an index that fails; nil is not.
	Logger *slog.Logger
}

// NewSessions returns a search.
func NewSessions(o Options) *Sessions {
	if o.Patience <= 0 {
		o.Patience = patience
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sessions{Options: o, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// Request is a text to search for.
type Request struct {
	Text string
	// Filter restricts what is found.
	Filter
	// Others are sessions that the store does not have. The index has none of them: their
	// lines are read.
	Others []Source
	// Limit is the maximum number of hits, at least 1.
	Limit int
	// Cursor is the NextCursor of the previous call.
	Cursor string
}

// Page is the result of one call. The hits of the index are first: of the 500 that it read last
// the sessions with the best come first, of equals the newest, then of the next 500. An index
// that is made again reads in another order. What the index does not have yet follows, ordered by session, then by event, newest first in both. In one session the newest
// is first. A page without hits need not be the last: its time may have been up.
type Page struct {
	Result
	// Titles are the sessions whose titles match, on the first page of a search in all
	// sessions.
	Titles []Title
	// NextCursor continues the search; it is empty at the end.
	NextCursor string
	// Sessions is the number of sessions to search. Left is the number not yet fully
	// searched, to show progress.
	Sessions, Left int
}

// cursor is where a search goes on.
type cursor struct {
	// Place is where the files go on; zero before them.
	Place
	// Mark is the moment of the index that the search has. At is where the index goes on,
	// and Skip how many of the hits there were returned; At is 0 at its end.
	Mark int64 `json:"m,omitempty"`
	At   int64 `json:"a,omitempty"`
	Skip int   `json:"k,omitempty"`
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
	if err := r.Check(); err != nil {
		return Page{}, err
	}
	query.filter = r.Filter
	var from cursor
	if r.Cursor != "" {
		data, err := base64.RawURLEncoding.DecodeString(r.Cursor)
		if err != nil || json.Unmarshal(data, &from) != nil || from.SessionID == "" && from.At <= 0 || from.Before < 0 || from.Mark < 0 || from.Skip < 0 {
			return Page{}, fmt.Errorf("%w: the cursor is not one of a search: leave it out", state.ErrInvalid)
		}
	}
	turn := time.NewTimer(a.Patience)
	defer turn.Stop()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return Page{}, ctx.Err()
	case <-turn.C:
		return Page{}, fmt.Errorf("%w: too many searches are under way, try again in a moment", state.ErrBusy)
	}
	sources := a.sources(r.Filter)
	page := Page{Sessions: len(sources) + len(r.Others)}
	page.Hits = []Hit{}
	if r.Cursor == "" {
		if r.Session == "" && r.Kind == "" && r.By == "" {
			page.Titles = query.titles(slices.Concat(sources, r.Others))
		}
		if a.Index != nil {
			a.catchUp(ctx, sources)
			from.Mark = a.Index.Mark()
			from.At = from.Mark
		}
	}
	until := time.Now().Add(budget)
	next, err := a.byIndex(ctx, query, sources, from, until, &page)
	if err != nil {
		return Page{}, err
	}
	if next.At == 0 && len(page.Hits) < r.Limit {
		next, err = a.byFiles(ctx, query, sources, r.Others, next, until, &page)
		if err != nil {
			return Page{}, err
		}
	}
	if page.Done {
		return page, nil
	}
	if next.At == 0 && next.SessionID == "" {
		next.Place = Place{SessionID: beforeAll, Before: 1} // the page is full, and the files are next
	}
	data, err := json.Marshal(next)
	if err != nil {
		return Page{}, fmt.Errorf("search: %w", err)
	}
	page.NextCursor = base64.RawURLEncoding.EncodeToString(data)
	return page, nil
}

// beforeAll is before the ids of all sessions in the order of a search.
const beforeAll = "\U0010ffff"

// catchUpFor is how long a search waits for the index.
const catchUpFor = 100 * time.Millisecond

// catchUp has the index read what it does not have yet. That is little, but for an index that
// is being made.
func (a *Sessions) catchUp(ctx context.Context, sources []Source) {
	ctx, cancel := context.WithTimeout(ctx, catchUpFor)
	defer cancel()
	a.Index.CatchUp(ctx, sources)
}

// byIndex adds the hits of the index to a page, and returns where the search goes on. If the
// index fails, the files are searched.
func (a *Sessions) byIndex(ctx context.Context, query *Query, sources []Source, from cursor, until time.Time, page *Page) (cursor, error) {
	if from.At == 0 || a.Index == nil {
		from.At = 0
		return from, nil
	}
	lookup := Lookup{Query: query, Sources: make(map[string]Source, len(sources)), Most: ranked, Until: until}
	for _, s := range sources {
		lookup.Sources[s.SessionID] = s
	}
	for from.At > 0 && len(page.Hits) < query.limit && (len(page.Hits) == 0 && from.Skip == 0 || time.Now().Before(until)) {
		lookup.At = from.At
		found, below, err := a.Index.Match(ctx, lookup)
		if err := ctx.Err(); err != nil {
			return from, err
		}
		if err != nil {
			a.Logger.Warn("the search index failed; the files are searched", "err", err)
			return cursor{Place: from.Place}, nil
		}
		if query.filter.Session == "" {
			rank(found)
		}
		found = found[min(from.Skip, len(found)):]
		room := query.limit - len(page.Hits)
		for _, f := range found[:min(room, len(found))] {
			page.Hits = append(page.Hits, f.Hit)
		}
		if len(found) > room {
			from.Skip += room
			break
		}
		from.At, from.Skip = below, 0
		if below > 0 && len(found) == 0 && !time.Now().Before(until) {
			break
		}
	}
	if from.At > 0 && from.Mark > 0 { // about so many
		page.Left = int(float64(len(sources)) * float64(from.At) / float64(from.Mark))
	}
	return from, nil
}

// byFiles adds the hits of the files that the index did not have, and returns where the search
// goes on.
func (a *Sessions) byFiles(ctx context.Context, query *Query, sources, others []Source, from cursor, until time.Time, page *Page) (cursor, error) {
	left := slices.Clone(others)
	for _, s := range sources {
		if a.Index != nil && from.Mark > 0 {
			covered, err := a.Index.Covered(ctx, s, from.Mark)
			if err != nil {
				covered = 0
			}
			if covered >= s.MaxSeq {
				continue
			}
			s.After = covered
		}
		left = append(left, s)
	}
	// Ids begin with the time of creation, so the order is stable during a search.
	slices.SortFunc(left, func(a, b Source) int { return strings.Compare(b.SessionID, a.SessionID) })
	query.limit -= len(page.Hits)
	query.budget = time.Until(until)
	found, err := query.Run(ctx, left, from.Place)
	if err != nil {
		return from, fmt.Errorf("search: %w", err)
	}
	hits := append(page.Hits, found.Hits...)
	page.Result = found
	page.Hits = hits
	if !found.Done {
		for _, s := range left {
			if s.SessionID <= found.Next.SessionID {
				page.Left++
			}
		}
	}
	from.Place = found.Next
	return from, nil
}

// sources lists the sessions to search.
func (a *Sessions) sources(f Filter) []Source {
	var sources []Source
	for md := range a.Store.Newest(journal.Place{}) {
		if !f.selects(md, a.Lifecycle) {
			continue
		}
		sources = append(sources, SourceOf(a.Store, md))
	}
	return sources
}

// SourceOf returns the source of a session.
func SourceOf(store journal.Store, md journal.Metadata) Source {
	id := md.SessionID // not all of md is kept
	return Source{
		SessionID: id, Name: md.Name, Epoch: md.Epoch, MinSeq: md.MinSeq, MaxSeq: md.MaxSeq, UpdatedAt: md.UpdatedAt,
		Lines: func() ([]journal.Part, error) { return store.Lines(id) },
	}
}
