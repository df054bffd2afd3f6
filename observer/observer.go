// Package observer follows a log from a cursor.
//
// A Follower is the one loop behind every screen: it reads what lies after its
// cursor, hands it to a Sink, moves the cursor, and sleeps until the log's bell
// rings. Replay and live delivery are the same loop, so there is no seam
// between them to lose an event in. The log never pushes and never knows who
// follows it; a slow Sink delays nobody but itself.
//
// The Follower stands for the SessionObserver of the first design, and its
// cursor for lastSentSeq.
package observer

import (
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// Source is a log as a follower sees it. *store.Log is one.
type Source interface {
	// ReadAfter returns events after seq, oldest first, at most maxBytes of
	// them but at least one if there is one. It never blocks for news.
	ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error)
	// Changed returns a channel that is closed when the log has more to show.
	// Take it before reading, or news in between is missed.
	Changed() <-chan struct{}
}

// Sink takes what a follower read. Deliver returns once the events are on
// their way; an error ends the follower. It is called by one goroutine.
type Sink interface {
	Deliver(ctx context.Context, b event.Batch) error
}

// ErrGap reports a source that skipped or repeated a seq. It is a bug in the
// source; the follower stops rather than show a hole.
var ErrGap = errors.New("gap in log")

// Follower hands every event after its cursor to a sink: once, in order. One
// goroutine owns it.
type Follower struct {
	source   Source
	sink     Sink
	cursor   event.Seq // lastSentSeq
	maxBytes int
}

// New returns a follower whose first event will be the one after cursor. A
// batch is at most maxBytes; a single larger event goes alone.
func New(source Source, sink Sink, cursor event.Seq, maxBytes int) *Follower {
	return &Follower{source: source, sink: sink, cursor: cursor, maxBytes: maxBytes}
}

// Cursor is the seq of the last event delivered. Only the goroutine that runs
// the follower may ask.
func (f *Follower) Cursor() event.Seq { return f.cursor }

// Follow delivers until ctx ends or the source or the sink fails. It always
// returns an error; after ctx ended, that is ctx's.
func (f *Follower) Follow(ctx context.Context) error {
	for {
		changed := f.source.Changed()
		if err := f.catchUp(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// catchUp delivers until there is nothing after the cursor.
func (f *Follower) catchUp(ctx context.Context) error {
	for {
		delivered, err := f.Step(ctx)
		if err != nil || !delivered {
			return err
		}
	}
}

// Step delivers the next batch, if there is one, and says whether it did. It
// is for callers that wait for more than one bell.
func (f *Follower) Step(ctx context.Context) (delivered bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	batch, err := f.source.ReadAfter(ctx, f.cursor, f.maxBytes)
	if err != nil {
		return false, fmt.Errorf("read after seq %d: %w", f.cursor, err)
	}
	if batch.Empty() {
		return false, nil
	}
	if batch.First != f.cursor+1 || batch.Last < batch.First {
		return false, fmt.Errorf("%w: events %d to %d after seq %d", ErrGap, batch.First, batch.Last, f.cursor)
	}
	if err := f.sink.Deliver(ctx, batch); err != nil {
		return false, fmt.Errorf("deliver events %d to %d: %w", batch.First, batch.Last, err)
	}
	f.cursor = batch.Last
	return true, nil
}
