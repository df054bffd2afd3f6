package index

import (
	"context"
	"database/sql"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/search"
)

// gram is how many characters the index is made of; a shorter part is looked for in the texts.
const gram = 3

// Match implements search.Index.
func (x *Index) Match(ctx context.Context, r search.Lookup) (found []search.Found, below int64, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.db == nil {
		return nil, 0, errNone
	}
	x.state.Lock()
	s := x.sample
	x.state.Unlock()
	found, below, poor, err := x.match(ctx, r, s)
	if poor {
		r.At, r.Most = below, r.Most-len(found)
		more, end, _, err := x.match(ctx, r, nil)
		return append(found, more...), end, err
	}
	return found, below, err
}

// match finds passages with the runs that are rare by a sample, or with all runs without one.
// It ends early, poor, if few of them have a hit.
func (x *Index) match(ctx context.Context, r search.Lookup, s *sample) (found []search.Found, below int64, poor bool, err error) {
	text, args, none := x.query(r, s)
	if none {
		return nil, 0, false, nil
	}
	rows, err := x.db.read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, 0, false, x.seen(err)
	}
	defer rows.Close() // its error is Err's
	for n := 1; rows.Next(); n++ {
		var id, key int64
		var p search.Passage
		var pieces, said sql.RawBytes
		if err := rows.Scan(&id, &key, &p.Type, &p.By, &p.ByID, &pieces, &said); err != nil {
			return nil, 0, false, x.seen(err)
		}
		below = id - 1
		if source, ok := x.sourceOf(key, r.Sources); ok {
			p.Text = string(said)
			if p.Pieces, err = decodePieces(pieces, len(p.Text)); err != nil {
				return nil, 0, false, x.seen(err)
			}
			if hit, quality, ok := r.Query.In(p); ok && hit.Seq >= source.MinSeq && hit.Seq <= source.MaxSeq {
				hit.SessionID, hit.Name = source.SessionID, source.Name
				found = append(found, search.Found{Hit: hit, Quality: quality})
			}
		}
		if len(found) == r.Most || n%64 == 0 && time.Now().After(r.Until) {
			return found, below, false, nil
		}
		if s != nil && n%1024 == 0 && len(found) < n/4 {
			return found, below, true, nil
		}
	}
	return found, 0, false, x.seen(rows.Err())
}

// sourceOf returns the session of a passage, if it is looked in and its log is the one that was
// read.
func (x *Index) sourceOf(key int64, sources map[string]search.Source) (search.Source, bool) {
	x.state.Lock()
	id, ok := x.keys[key]
	epoch := x.known[id].epoch
	x.state.Unlock()
	source, wanted := sources[id]
	return source, ok && wanted && source.Epoch == epoch
}

// query makes the statement for the passages that may have a hit, and its arguments. None says
// that there cannot be any.
func (x *Index) query(r search.Lookup, s *sample) (text string, args []any, none bool) {
	var grams []string
	for _, part := range r.Query.Parts() {
		if utf8.RuneCountInString(part) >= gram {
			grams = append(grams, part)
		}
	}
	const columns = "select p.id, p.session, p.type, p.by, p.by_id, p.pieces, p.text from "
	id := "p.id"
	if len(grams) > 0 {
		id = "texts.rowid"
		text = columns + "texts cross join passages p on p.id = texts.rowid where texts match ? and texts.rowid <= ?"
		args = []any{s.expression(grams), r.At}
	} else {
		text, args = columns+"passages p where p.id <= ?", []any{r.At}
	}
	f := r.Query.Filter()
	if len(r.Sources) < x.sessions() {
		keys := x.keysOf(r.Sources)
		if len(keys) == 0 {
			return "", nil, true
		}
		text += " and p.session in (select value from json_each(?))"
		args = append(args, keys)
	}
	switch f.Kind {
	case search.KindPrompt:
		text, args = text+" and p.type = ?", append(args, string(event.TypeUserPrompt))
	case search.KindMessage:
		text, args = text+" and p.type = ?", append(args, string(event.TypeAgentMessage))
	case search.KindTool:
		text, args = text+" and p.type in (?, ?)", append(args, string(event.TypeToolCall), string(event.TypeToolCallUpdate))
	}
	if f.By != "" {
		text, args = text+" and (p.by = ? or p.by_id = ?)", append(args, f.By, f.By)
	}
	if !f.From.IsZero() {
		text, args = text+" and p.time >= ?", append(args, f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		text, args = text+" and p.time <= ?", append(args, f.To.UnixMicro())
	}
	return text + " order by " + id + " desc", args, false
}

func (x *Index) sessions() int {
	x.state.Lock()
	defer x.state.Unlock()
	return len(x.known)
}

// keysOf are the keys of the sessions as a JSON array; empty if the index has none of them.
func (x *Index) keysOf(sources map[string]search.Source) string {
	x.state.Lock()
	defer x.state.Unlock()
	keys := []byte{'['}
	for id := range sources {
		if of, ok := x.known[id]; ok {
			if len(keys) > 1 {
				keys = append(keys, ',')
			}
			keys = strconv.AppendInt(keys, of.key, 10)
		}
	}
	if len(keys) == 1 {
		return ""
	}
	return string(append(keys, ']'))
}
