package store

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// ReadWritten reads as ReadAfter does but shows no placeholders, so that what is
// missing costs nothing, however many events that are. It is for those who fold a
// log, to whom a placeholder says nothing. Through is up to where the log was
// read, and what to ask after next: it is after itself if there is nothing newer
// yet, and otherwise higher, also where the batch is empty. The batch's Last is
// through, and its Count how many events are in it.
func (l *Log) ReadWritten(ctx context.Context, after event.Seq, maxBytes int) (b event.Batch, through event.Seq, err error) {
	if l.closed.Load() {
		return event.Batch{}, after, ErrClosed
	}
	visible := event.Seq(l.marks.visible.Load())
	if after >= visible {
		return event.Batch{}, after, nil
	}
	if after < 0 {
		return event.Batch{}, after, fmt.Errorf("%w: seq %d", ErrInvalid, after)
	}
	if b, ok := l.tail.read(after, visible, maxBytes); ok {
		return b, b.Last, nil // the tail holds lines only
	}
	if err := l.removed(after + 1); err != nil {
		return event.Batch{}, after, err
	}
	c := collector{want: after + 1, bound: visible, maxBytes: maxBytes, sparse: true}
	if err := l.collect(ctx, &c); err != nil {
		return event.Batch{}, after, err
	}
	return c.batch(), c.want - 1, nil
}
