// Package observer follows a log from a cursor.
//
// Follower.Run is the only loop for all screens: it reads the events after its
// cursor, hands them to a Sink, moves the cursor, and waits until the log's bell
// rings. Replay and live delivery are the same loop, so no event can be lost
// between them. The log does not push and does not know its followers. A slow Sink
// delays only itself.
package observer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Source is a log as a follower sees it. *store.Log is one.
type Source interface {
	// ReadAfter returns events after seq, oldest first, at most maxBytes of them
	// but at least one if there is one. It never blocks.
	ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error)
	// Changed returns a channel that is closed when the log has more events. Take
	// it before reading, or a change in between is missed.
	Changed() <-chan struct{}
}

// Sink receives the events of a follower. Deliver returns once they are sent; an
// error ends the follower. One goroutine calls it.
type Sink interface {
	Deliver(ctx context.Context, b event.Batch) error
}

// Attendant is a Sink that also does other work, such as sending state or
// heartbeats. Run calls Attend before each read, in the same goroutine as
// Deliver; an error ends the follower.
type Attendant interface {
	Sink
	Attend(ctx context.Context) (Wake, error)
}

// Wake says when Attend must be called again even without a new event. The zero
// Wake never does.
type Wake struct {
	// Bells wake the follower when one of them closes. A nil channel never does.
	Bells [3]<-chan struct{}
	// At wakes the follower at a time; zero is never.
	At time.Time
	// Last means that the log gets no more events: Run delivers the remaining
	// events and returns ErrEnded.
	Last bool
}

var (
	// ErrGap means that the source skipped or repeated a seq, which is a bug in the
	// source. The follower stops instead of delivering a gap.
	ErrGap = errors.New("gap in log")
	// ErrEnded means that the Attendant returned Last and everything is delivered.
	ErrEnded = errors.New("the log has ended")
)

// Follower delivers every event after its cursor to a sink, once and in order. It
// is not safe for concurrent use.
type Follower struct {
	source Source
	sink   Sink
	// lastSentSeq is the cursor: the seq of the last event that the sink took.
	lastSentSeq event.Seq
	maxBytes    int
}

// New returns a follower whose first event is the one after cursor. A batch has at
// most maxBytes, or one larger event.
func New(source Source, sink Sink, cursor event.Seq, maxBytes int) *Follower {
	return &Follower{source: source, sink: sink, lastSentSeq: cursor, maxBytes: maxBytes}
}

// Cursor is the seq of the last delivered event. Only the goroutine that runs the
// follower may call it.
func (f *Follower) Cursor() event.Seq { return f.lastSentSeq }

// Run delivers events until ctx ends, or the source or the sink fails. It always
// returns an error; after ctx ended, that is ctx's.
func (f *Follower) Run(ctx context.Context) error {
	attendant, _ := f.sink.(Attendant)
	for {
		changed := f.source.Changed()
		var wake Wake
		for delivered := true; delivered; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if attendant != nil {
				if wake, err = attendant.Attend(ctx); err != nil {
					return err
				}
			}
			if delivered, err = f.step(ctx); err != nil {
				return err
			}
		}
		if wake.Last {
			return ErrEnded
		}
		if err := wake.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// wait returns when the log has changed or the wake is due.
func (w Wake) wait(ctx context.Context, changed <-chan struct{}) error {
	var at <-chan time.Time
	if !w.At.IsZero() {
		at = time.After(time.Until(w.At))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-at:
	case <-w.Bells[0]:
	case <-w.Bells[1]:
	case <-w.Bells[2]:
	}
	return nil
}

// CatchUp delivers the present events of the source without waiting for more. It
// does not call Attend.
func (f *Follower) CatchUp(ctx context.Context) error {
	for {
		delivered, err := f.step(ctx)
		if err != nil || !delivered {
			return err
		}
	}
}

// step delivers the next batch, if there is one, and reports whether it did.
func (f *Follower) step(ctx context.Context) (delivered bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	batch, err := f.source.ReadAfter(ctx, f.lastSentSeq, f.maxBytes)
	if err != nil {
		return false, fmt.Errorf("read after seq %d: %w", f.lastSentSeq, err)
	}
	if batch.Empty() {
		return false, nil
	}
	if batch.First != f.lastSentSeq+1 || batch.Last < batch.First {
		return false, fmt.Errorf("%w: events %d to %d after seq %d", ErrGap, batch.First, batch.Last, f.lastSentSeq)
	}
	if err := f.sink.Deliver(ctx, batch); err != nil {
		return false, fmt.Errorf("deliver events %d to %d: %w", batch.First, batch.Last, err)
	}
	f.lastSentSeq = batch.Last
	return true, nil
}
