// Package search finds text in sessions.
//
// It asks an Index, and for what that does not have it reads the stored lines themselves
// (journal.Store.Lines), backwards in windows. It keeps nothing: no
// log is opened for writing, recovered or held in memory. It searches prompts, the
// agent's messages and the titles and commands of its tools; chunks of one message
// are joined first, so that a phrase is found across them. Words are found in any order;
// marks of Markdown and the form of Unicode do not count. Of a value that was
// moved to a blob the head is searched.
//
// A line with a right checksum is not decoded to find that it has no match: its
// text is cut out and compared in place, at some 400 MB a second and core. Only
// passages that may match are decoded, and lines that are not as a store wrote
// them.
package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// maxQuery is the most bytes a query may have.
const maxQuery = 256

// Source is one session's stored lines, as far as they may be shown.
type Source struct {
	SessionID, Name string
	// Lines returns the parts of the log, oldest first. A session that was deleted
	// meanwhile is fs.ErrNotExist or journal.ErrNotFound.
	Lines func() ([]journal.Part, error)
	// MaxSeq is the last event that readers may see.
	MaxSeq event.Seq
	// Epoch is the log's identity, and MinSeq its first event. The files are searched
	// without them.
	Epoch     string
	MinSeq    event.Seq
	UpdatedAt time.Time
	// After is the event after which the files are searched; 0 is the whole log.
	After event.Seq
}

// Hit is one place where the text occurs. A message is hit once for each window
// of the file it reaches into, which for all but huge ones is once.
type Hit struct {
	SessionID string     `json:"session_id"`
	Name      string     `json:"name"`
	Seq       event.Seq  `json:"seq"` // of the event in which the match begins
	Type      event.Type `json:"type"`
	Time      time.Time  `json:"time"`
	// Snippet is the text around the match.
	Snippet string `json:"snippet"`
	// Ranges are the matches in Snippet: from and to, in UTF-16 code units as
	// JavaScript counts.
	Ranges [][2]int `json:"ranges,omitempty"`
}

// Place is where a search goes on: below Before in SessionID, then in the
// sessions behind it. The zero Place is the beginning.
type Place struct {
	SessionID string    `json:"s"`
	Before    event.Seq `json:"b"`
}

// Result is the result of one call.
type Result struct {
	// Skipped are the sessions with files that could not be read, or not to their
	// beginning.
	Skipped []string
	Hits    []Hit
	// Next is where to go on; meaningless when Done.
	Next Place
	// Bytes is how much was read.
	Bytes int64
	// Done says that everything was searched.
	Done bool
}

// Query is a search that may be run.
type Query struct {
	// parts are the folded words and phrases to find in one passage, the longest first.
	parts  [][]byte
	filter Filter
	limit  int
	budget time.Duration
}

// scan is one run of a query, with the memory it uses again for each window.
type scan struct {
	query   *Query
	buffer  []byte // of windows
	passage passage
}

// NewQuery checks the text to search for: words, which a passage has in any order, and
// phrases in double quotes; no pattern, in any case. A call to Run ends soon after limit hits or when budget is spent. The error is
// ErrInvalid.
func NewQuery(text string, limit int, budget time.Duration) (*Query, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, fmt.Errorf("%w: the search text is missing", state.ErrInvalid)
	case len(text) > maxQuery:
		return nil, fmt.Errorf("%w: at most %d bytes can be searched for", state.ErrInvalid, maxQuery)
	case !utf8.ValidString(text):
		return nil, fmt.Errorf("%w: the text is not UTF-8", state.ErrInvalid)
	case strings.IndexFunc(text, unicode.IsControl) >= 0:
		return nil, fmt.Errorf("%w: control characters cannot be searched for", state.ErrInvalid)
	}
	parts := partsOf(text)
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: * and ` are not searched for: add a word", state.ErrInvalid)
	}
	return &Query{parts: parts, limit: limit, budget: budget}, nil
}

// partsOf are the folded words and phrases of a text, the longest first.
func partsOf(text string) (parts [][]byte) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeftFunc(text, unicode.IsSpace) {
		part, rest, quoted := "", "", false
		if text[0] == '"' {
			part, rest, quoted = strings.Cut(text[1:], `"`)
			quoted = quoted && strings.TrimSpace(part) != ""
		}
		if !quoted {
			end := strings.IndexFunc(text, unicode.IsSpace)
			if end < 0 {
				end = len(text)
			}
			part, rest = text[:end], text[end:]
		}
		if folded := appendFold(nil, part); len(folded) > 0 {
			parts = append(parts, folded)
		}
		text = rest
	}
	slices.SortStableFunc(parts, func(a, b []byte) int { return len(b) - len(a) })
	return parts
}

// Run searches the sources in their order, each from its newest event to its
// oldest. Sources must be ordered by SessionID, descending, which a cursor relies
// on. A source without its files is skipped. The error is ctx's, or that of
// reading.
func (q *Query) Run(ctx context.Context, sources []Source, from Place) (Result, error) {
	deadline := time.Now().Add(q.budget)
	scan := scan{query: q}
	result := Result{Hits: []Hit{}}
	for _, source := range sources {
		before := source.MaxSeq + 1
		if from.SessionID != "" {
			if source.SessionID > from.SessionID {
				continue
			}
			if source.SessionID == from.SessionID {
				before = min(before, from.Before)
			}
		}
		for before > source.After+1 {
			if err := ctx.Err(); err != nil {
				return result, err
			}
			if len(result.Hits) >= q.limit || result.Bytes > 0 && time.Now().After(deadline) {
				result.Next = Place{source.SessionID, before}
				return result, nil
			}
			w, err := scan.readWindow(source, before)
			if err != nil { // damage of one session does not hide the others' results
				result.Skipped = append(result.Skipped, source.SessionID)
				break
			}
			result.Bytes += int64(len(w.text))
			hits, err := scan.window(ctx, source, w)
			if err != nil {
				return result, err
			}
			if room := q.limit - len(result.Hits); len(hits) > room {
				hits = hits[:room]
				before = hits[room-1].Seq
			} else {
				before = w.first
			}
			result.Hits = append(result.Hits, hits...)
		}
	}
	result.Done = true
	return result, nil
}
