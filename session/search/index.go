package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Index finds passages without reading files, in the sessions that it has read so far. It is
// safe for concurrent use.
type Index interface {
	// Mark is a moment of the index: the passages so far are at or below it. It is 0 if
	// the index cannot be used.
	Mark() int64
	// CatchUp waits until the index has the sources as far as their MaxSeq, or ctx ends.
	CatchUp(ctx context.Context, sources []Source)
	// Covered is the last event of a session that the index had at a mark; 0 if it has
	// none, or another epoch of the log.
	Covered(ctx context.Context, source Source, mark int64) (event.Seq, error)
	// Match returns the newest passages at or below a place that have all parts of the
	// query, the newest first, at most so many. Below is the place after the last one that
	// was looked at, 0 at the end: the search ends early when its time is up.
	Match(ctx context.Context, r Lookup) (found []Found, below int64, err error)
}

// Lookup is a question to an Index.
type Lookup struct {
	Query *Query
	// Sources are the sessions to look in, by id.
	Sources map[string]Source
	// At is where the passages begin that are looked at; they go on below it.
	At int64
	// Most is the most passages to return, Until when to end.
	Most  int
	Until time.Time
}

// Filter is what the query was restricted to.
func (q *Query) Filter() Filter { return q.filter }

// Found is a passage with a hit.
type Found struct {
	Hit
	// Quality is how well it matches.
	Quality int
}

// ranked is how many of the newest hits are ranked among each other. Older ones follow.
const ranked = 500

// rank orders hits: the sessions by their best hit, and of equals the newest; the hits of a
// session in the same way. A place in the index does not count: another index has others.
func rank(found []Found) {
	better := func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Quality, a.Quality), b.Time.Compare(a.Time), strings.Compare(b.SessionID, a.SessionID), cmp.Compare(b.Seq, a.Seq))
	}
	best := map[string]Found{}
	for _, f := range found {
		if of, ok := best[f.SessionID]; !ok || better(f, of) < 0 {
			best[f.SessionID] = f
		}
	}
	slices.SortFunc(found, func(a, b Found) int {
		if a.SessionID != b.SessionID {
			return better(best[a.SessionID], best[b.SessionID])
		}
		return better(a, b)
	})
}
