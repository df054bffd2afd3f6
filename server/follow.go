package server

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// statePause is the least time between two state frames of one session to one
// client: state is worth only its latest.
const statePause = 50 * time.Millisecond

// errPutAside ends the following of a session that is no longer open.
var errPutAside = errors.New("the session was put aside")

// errOvertaken ends the following of events that were removed before the client
// took them.
var errOvertaken = errors.New("events were removed before they were sent")

// follow is one session followed by one client: a cursor over its log, and its
// state. Its goroutine owns it.
type follow struct {
	client    *SessionWSClient
	session   *session.BackgroundSession
	requestID string
	place     place

	frames   *frames
	frame    *frame    // what ReadAfter made for Deliver
	room     *room     // for frames that are nobody else's; nil while there is nothing to send
	behind   bool      // the last frame was about full: more is waiting
	said     event.Seq // how far the client was told the log reaches
	mergeTo  event.Seq // up to here runs of chunks are joined
	lastSent time.Time // of the state
}

// run answers the observe and then follows until ctx ends or nothing more can
// be said.
func (f *follow) run(ctx context.Context) error {
	cursor, err := f.begin(ctx)
	if err != nil {
		return err
	}
	f.frames = f.client.server.frames.acquire(f.session)
	defer f.client.server.frames.release(f.frames)
	follower := observer.New(f, f, cursor, liveBytes)
	stateChanged := closed() // so the first state goes out at once
	for {
		logChanged := f.session.Log().Changed()
		if rung(stateChanged) && time.Since(f.lastSent) >= statePause {
			stateChanged = f.session.StateChanged()
			if err := f.sendState(ctx); err != nil {
				return err
			}
		}
		delivered, err := follower.Step(ctx)
		if err != nil {
			return f.stopped(follower.Cursor(), err)
		}
		if delivered {
			if f.behind {
				// Those at the same cursor go on together, and share the frames
				// that are kept. One whose socket takes all would use up its turn
				// of the processor and be out of their reach.
				runtime.Gosched()
			}
			continue
		}
		if rung(f.session.Done()) {
			return errPutAside // its log goes on under another
		}
		var pause <-chan time.Time
		bell := stateChanged
		if rung(stateChanged) { // news too soon after the last
			bell, pause = nil, time.After(statePause-time.Since(f.lastSent))
		}
		f.frames.rest(&f.room)
		select {
		case <-ctx.Done():
		case <-logChanged:
		case <-bell:
		case <-pause:
		}
		f.frames.wake()
		if err := ctx.Err(); err != nil {
			return err // at once: not even a state may follow a revocation
		}
	}
}

// stopped says why the following ended behind cursor. Where the events after it
// are no longer kept, it can be run again from there, to tell the client.
func (f *follow) stopped(cursor event.Seq, err error) error {
	span := spanOf(f.session)
	if errors.Is(err, errGone) || span.wrong(cursor, "") != wire.ResetBefore {
		return err
	}
	f.place.after, f.place.epoch, f.place.tail = &cursor, span.epoch, wire.DefaultPage
	return errOvertaken
}

// begin sends the verdict and returns the cursor.
func (f *follow) begin(ctx context.Context) (event.Seq, error) {
	span := spanOf(f.session)
	loaded, page, cursor, err := span.begin(ctx, f.place)
	if err != nil {
		return 0, err
	}
	loaded.RequestID = f.requestID
	frame, err := encodeLoaded(loaded, page, f.place.merge)
	if err != nil {
		return 0, err
	}
	f.said = loaded.MaxSeq
	if f.place.merge {
		f.mergeTo = span.max
	}
	f.place, f.requestID = place{merge: f.place.merge}, "" // answered; they hold on to the request's text
	return cursor, f.client.write(ctx, messageOf(frame))
}

// ReadAfter implements observer.Source by the frames shared with others.
func (f *follow) ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error) {
	made, err := f.frames.after(ctx, after, f.said, maxBytes, &f.room)
	if err != nil || made == nil {
		return event.Batch{}, err
	}
	f.frame = made
	return made.batch, nil
}

// Changed implements observer.Source.
func (f *follow) Changed() <-chan struct{} { return f.session.Log().Changed() }

// Deliver implements observer.Sink.
func (f *follow) Deliver(ctx context.Context, b event.Batch) error {
	m := f.frame.message
	f.said = max(f.said, f.frame.maxSeq)
	f.behind = f.frame.full()
	if b.Last <= f.mergeTo && b.Count > 1 {
		joined, err := merge(b)
		if err != nil {
			return err
		}
		m = messageOf(wire.AppendEvents(nil, f.session.ID(), f.session.Log().Epoch(), joined, f.frame.maxSeq))
	}
	f.frame = nil // one that sleeps for hours must not hold it
	return f.client.write(ctx, m)
}

func (f *follow) sendState(ctx context.Context) error {
	f.lastSent = time.Now()
	return f.client.send(ctx, stateFrame(f.session.State()))
}

// closed returns a bell that has rung.
func closed() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

func rung(bell <-chan struct{}) bool {
	select {
	case <-bell:
		return true
	default:
		return false
	}
}
