package store

import (
	"context"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// ReadLines implements journal.Log. It reads through the tail and the packed files as
// ReadAfter does: the checksum of a line follows from its body.
func (r *reader) ReadLines(ctx context.Context, after event.Seq, maxBytes int) (journal.Stretch, error) {
	for {
		b, err := r.ReadAfter(ctx, after, maxBytes)
		if err != nil || b.Empty() {
			return journal.Stretch{Last: after}, err
		}
		s, err := r.stored(ctx, b)
		if err != nil || len(s.Lines) > 0 {
			return s, err
		}
		after = s.Last // the log itself says that these seqs are lost
	}
}

// stored returns the lines of a batch that are of the same file as its first line.
func (r *reader) stored(ctx context.Context, b event.Batch) (journal.Stretch, error) {
	// Only now, because the log may have begun another file before the batch was read.
	seg, next, err := r.segs.at(b.First)
	if err != nil {
		return journal.Stretch{}, err
	}
	if seg.first > b.First { // the files before were removed meanwhile, or are lost
		return journal.Stretch{Last: seg.first - 1}, nil
	}
	s := journal.Stretch{File: seg.first, Last: b.First - 1, Lines: make([]byte, 0, len(b.JSON)+len(b.JSON)/16+64)}
	hole := 0 // where the lines of a run of placeholders begin
	inHole := false
	for h := range b.Headers() {
		if next > 0 && s.Last+1 >= next {
			break
		}
		switch missing := h.Type == event.TypeCorrupt; {
		case missing && !inHole:
			hole, inHole = len(s.Lines), true
		case !missing && inHole && declaresLoss(h.Type):
			s.Lines = s.Lines[:hole]
			fallthrough
		default:
			inHole = inHole && missing
		}
		s.Lines = logfile.AppendStored(s.Lines, h.JSON)
		s.Last++
	}
	if !inHole {
		return s, nil
	}
	return r.afterHole(ctx, s, hole, next)
}

// afterHole is for lines that end within a hole, or with its last seq. It removes the
// placeholders if the line after the hole declares the loss.
func (r *reader) afterHole(ctx context.Context, s journal.Stretch, hole int, next event.Seq) (journal.Stretch, error) {
	b, _, err := r.ReadWritten(ctx, s.Last, 1)
	if err != nil {
		return s, err
	}
	for h := range b.Headers() {
		if e, err := h.Event(); err == nil && (next == 0 || e.Seq < next) && declaresLoss(e.Type) {
			s.Lines, s.Last = s.Lines[:hole], e.Seq-1
		}
		break
	}
	return s, nil
}

// declaresLoss reports whether an event of this type may follow seqs that recovery found
// lost. Recovery begins with segment_start if it also begins a file.
func declaresLoss(kind event.Type) bool {
	return kind == event.TypeEpoch || kind == event.TypeSegmentStart
}
