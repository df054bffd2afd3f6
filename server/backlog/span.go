// Package backlog answers a client's place in a log: whether it is valid, and the page of
// events there, with the chunks of a message joined if the client asks for that.
package backlog

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Place is where a client wants to begin: after a seq of an epoch, or with the
// newest events.
type Place struct {
	After *event.Seq
	Epoch string
	Tail  int
	Merge bool
}

// NewPlace validates a client's request.
func NewPlace(after *event.Seq, epoch string, tail *int, merge bool) (Place, error) {
	p := Place{After: after, Epoch: epoch, Tail: wire.DefaultPage, Merge: merge}
	if after != nil && *after < 0 {
		return Place{}, invalid("after_seq is below 0")
	}
	if after != nil && *after > 0 && epoch == "" {
		return Place{}, invalid("after_seq needs the epoch it belongs to")
	}
	if tail == nil {
		return p, nil
	}
	if *tail < 0 || *tail > wire.MaxPage {
		return Place{}, invalid("tail is not between 0 and %d", wire.MaxPage)
	}
	if after != nil {
		return Place{}, invalid("both after_seq and tail; one is expected")
	}
	p.Tail = *tail
	return p, nil
}

// invalid is a client's mistake.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", state.ErrInvalid, fmt.Sprintf(format, args...))
}

// Source is a session whose log has the pages.
type Source interface {
	ID() string
	Log() journal.Log
	// ReadError is the error for a failed read of the log. nil stays nil.
	ReadError(err error) error
}

// Span is a log with one reading of its watermarks, so that all parts of an answer
// agree. It returns the pages that the protocol defines.
type Span struct {
	session Source
	Epoch   string
	first   event.Seq
	Max     event.Seq
}

// SpanOf reads the watermarks of a session's log.
func SpanOf(s Source) Span {
	marks := s.Log().Marks()
	return Span{session: s, Epoch: s.Log().Epoch(), first: marks.Min, Max: marks.Visible}
}

// Begin answers observe: the verdict on the place, its page, and the cursor to
// follow from.
func (l Span) Begin(ctx context.Context, p Place) (wire.EventsLoaded, event.Batch, event.Seq, error) {
	if p.After == nil {
		return l.newest(ctx, wire.VerdictOK, "", p.Tail)
	}
	if reason := l.Wrong(*p.After, p.Epoch); reason != "" {
		return l.newest(ctx, wire.VerdictReset, reason, p.Tail)
	}
	loaded := l.answer(event.Batch{}, *p.After)
	loaded.HasMore = *p.After < l.Max
	return loaded, event.Batch{}, *p.After, nil
}

// Wrong returns why a cursor is invalid, or nothing.
func (l Span) Wrong(after event.Seq, epoch string) wire.ResetReason {
	switch {
	case epoch != "" && epoch != l.Epoch:
		return wire.ResetEpoch
	case after > l.Max:
		return wire.ResetAhead
	case after < l.first-1:
		return wire.ResetBefore
	}
	return ""
}

// newest answers with the end of the log, and the cursor after it.
func (l Span) newest(ctx context.Context, verdict wire.Verdict, reason wire.ResetReason, limit int) (wire.EventsLoaded, event.Batch, event.Seq, error) {
	batch, err := l.before(ctx, l.Max+1, limit)
	if err != nil {
		return wire.EventsLoaded{}, event.Batch{}, 0, err
	}
	loaded := l.answer(batch, l.Max)
	loaded.Verdict, loaded.Reason = verdict, reason
	loaded.HasMore = loaded.FirstSeq > l.first
	return loaded, batch, l.Max, nil
}

// Load answers load_events: one page, and no cursor moves.
func (l Span) Load(ctx context.Context, after, before *event.Seq, epoch string, limit int) (wire.EventsLoaded, event.Batch, error) {
	if limit == 0 {
		limit = wire.DefaultPage
	}
	switch {
	case (after == nil) == (before == nil):
		return wire.EventsLoaded{}, event.Batch{}, invalid("exactly one of after_seq and before_seq is expected")
	case limit < 1 || limit > wire.MaxPage:
		return wire.EventsLoaded{}, event.Batch{}, invalid("limit is not between 1 and %d", wire.MaxPage)
	case after != nil && *after < 0:
		return wire.EventsLoaded{}, event.Batch{}, invalid("after_seq is below 0")
	case before != nil && *before < 1:
		return wire.EventsLoaded{}, event.Batch{}, invalid("before_seq is below 1")
	}
	// A page before seq n is for a client that has n. The same cursor continues
	// after n-1.
	var cursor event.Seq
	if after != nil {
		cursor = *after
	} else {
		cursor = *before - 1
	}
	if reason := l.Wrong(cursor, epoch); reason != "" && (reason != wire.ResetBefore || after != nil) {
		loaded, batch, _, err := l.newest(ctx, wire.VerdictReset, reason, limit)
		return loaded, batch, err
	}
	if before != nil {
		batch, err := l.before(ctx, *before, limit)
		loaded := l.answer(batch, cursor)
		loaded.Prepend = true
		loaded.HasMore = loaded.FirstSeq > l.first && !batch.Empty()
		return loaded, batch, err
	}
	batch, err := l.after(ctx, cursor, limit)
	if err != nil {
		// Events may have been removed while they were read.
		if now := SpanOf(l.session); now.Wrong(cursor, epoch) != "" {
			return now.Load(ctx, after, before, epoch, limit)
		}
	}
	loaded := l.answer(batch, cursor)
	loaded.MaxSeq = max(l.Max, batch.Last)
	loaded.HasMore = loaded.LastSeq < loaded.MaxSeq
	return loaded, batch, err
}

// after reads a page. The log may return less than there is in one call.
func (l Span) after(ctx context.Context, cursor event.Seq, limit int) (event.Batch, error) {
	var page event.Batch
	for page.Count < limit && len(page.JSON) < wire.MaxBacklogFrame {
		more, err := l.session.Log().ReadAfter(ctx, max(cursor, page.Last), wire.MaxBacklogFrame-len(page.JSON))
		if err != nil {
			return event.Batch{}, fmt.Errorf("reading after seq %d: %w", max(cursor, page.Last), l.session.ReadError(err))
		}
		more = cut(more, limit-page.Count)
		switch {
		case more.Empty():
			return page, nil
		case page.Empty():
			page = more
		case len(page.JSON)+len(more.JSON) >= wire.MaxBacklogFrame: // a single large event
			return page, nil
		default:
			page = join(page, more)
		}
	}
	return page, nil
}

func (l Span) before(ctx context.Context, before event.Seq, limit int) (event.Batch, error) {
	if limit == 0 || before <= l.first {
		return event.Batch{}, nil
	}
	batch, err := l.session.Log().ReadBefore(ctx, before, limit)
	if err != nil {
		return event.Batch{}, fmt.Errorf("reading before seq %d: %w", before, l.session.ReadError(err))
	}
	return batch, nil
}

// answer fills in the fields of every answer. An empty page stands at the cursor.
func (l Span) answer(b event.Batch, cursor event.Seq) wire.EventsLoaded {
	loaded := wire.EventsLoaded{
		SessionID: l.session.ID(), Verdict: wire.VerdictOK, Epoch: l.Epoch,
		FirstSeq: cursor + 1, LastSeq: cursor, MinSeq: l.first, MaxSeq: l.Max,
	}
	if !b.Empty() {
		loaded.FirstSeq, loaded.LastSeq = b.First, b.Last
	}
	return loaded
}

// Encode encodes the answer with its page, merged if requested.
func Encode(loaded wire.EventsLoaded, b event.Batch, merged bool) ([]byte, error) {
	if merged && b.Count > 1 {
		joined, err := Merge(b)
		if err != nil {
			return nil, err
		}
		b = joined
	}
	return wire.EncodeLoaded(loaded, b)
}
