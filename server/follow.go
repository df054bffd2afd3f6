package server

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// statePause is the minimum time between two state frames of a session to one
// client, because only the latest state counts.
const statePause = 50 * time.Millisecond

// errOvertaken ends a follow whose next events were removed before the client got
// them.
var errOvertaken = errors.New("events were removed before they were sent")

// follow is one session followed by one client: a cursor in its log, and its state.
// It is the source and the sink of an observer.Follower, whose goroutine owns it.
type follow struct {
	client    *SessionWSClient
	session   api.Watched
	requestID string
	place     backlog.Place

	frames   *frames
	frame    *frame    // made by ReadAfter for Deliver
	buffer   *buffer   // for frames that no other client needs; nil while idle
	resting  bool      // frames knows that everything was sent
	behind   bool      // the last frame was nearly full, so there is more
	said     event.Seq // the highest max_seq sent to the client
	mergeTo  event.Seq // chunks are merged up to this seq
	lastSent time.Time // time of the last state frame

	stateChanged    <-chan struct{} // nil before the first state
	commentsChanged <-chan struct{} // nil before the first look
	commentsSaid    int64           // the last version sent to the client
}

// run answers the observe. Then it follows until ctx ends, the session is closed,
// or sending fails.
func (f *follow) run(ctx context.Context) error {
	var lastSentSeq event.Seq
	err := onBorrowedStack(func() (err error) {
		lastSentSeq, err = f.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	f.stateChanged, f.commentsChanged, f.resting = nil, nil, false
	f.frames = f.client.server.frames.acquire(f.session)
	defer f.client.server.frames.release(f.frames)
	defer f.wake()
	follower := observer.New(f, f, lastSentSeq, liveBytes)
	return f.stopped(follower, follower.Run(ctx))
}

// Attend implements observer.Attendant: it sends the state when it has changed,
// with a minimum pause, and the number of comments.
func (f *follow) Attend(ctx context.Context) (observer.Wake, error) {
	wake := observer.Wake{Last: rung(f.session.Done())} // the session may be reopened with another log
	if f.stateChanged != nil && !rung(f.stateChanged) {
		wake.Bells[0] = f.stateChanged
		err := f.tellComments(ctx, &wake)
		return wake, err
	}
	if at := f.lastSent.Add(statePause); time.Now().Before(at) {
		wake.At = at
		return wake, nil
	}
	f.stateChanged = f.session.StateChanged()
	wake.Bells[0] = f.stateChanged
	if err := f.sendState(ctx); err != nil {
		return wake, err
	}
	err := f.tellComments(ctx, &wake)
	return wake, err
}

// stopped returns why the following ended. If the next events were removed, run can
// be called again from the cursor to tell the client.
func (f *follow) stopped(follower *observer.Follower, err error) error {
	lastSentSeq, span := follower.Cursor(), backlog.SpanOf(f.session)
	if errors.Is(err, errGone) || errors.Is(err, observer.ErrEnded) || span.Wrong(lastSentSeq, "") != wire.ResetBefore {
		return err
	}
	f.place.After, f.place.Epoch, f.place.Tail = &lastSentSeq, span.Epoch, wire.DefaultPage
	return errOvertaken
}

// begin sends the verdict and returns the cursor, lastSentSeq.
func (f *follow) begin(ctx context.Context) (event.Seq, error) {
	span := backlog.SpanOf(f.session)
	loaded, page, lastSentSeq, err := span.Begin(ctx, f.place)
	if err != nil {
		return 0, err
	}
	loaded.RequestID = f.requestID
	frame, err := backlog.Encode(loaded, page, f.place.Merge)
	if err != nil {
		return 0, err
	}
	f.said = loaded.MaxSeq
	if f.place.Merge {
		f.mergeTo = span.Max
	}
	f.place, f.requestID = backlog.Place{Merge: f.place.Merge}, "" // answered: release the request's text
	return lastSentSeq, f.client.write(ctx, messageOf(frame))
}

// ReadAfter implements observer.Source with frames shared with other clients. If
// there is no next frame, the follower is about to wait and rests.
func (f *follow) ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error) {
	f.wake()
	made, err := f.frames.after(ctx, after, f.said, maxBytes, &f.buffer)
	if err != nil {
		return event.Batch{}, err
	}
	if made == nil {
		f.frames.rest(&f.buffer)
		f.resting = true
		return event.Batch{}, nil
	}
	f.frame = made
	return made.batch, nil
}

// wake ends the rest.
func (f *follow) wake() {
	if f.resting {
		f.frames.wake()
		f.resting = false
	}
}

// Changed implements observer.Source.
func (f *follow) Changed() <-chan struct{} { return f.session.Log().Changed() }

// Deliver implements observer.Sink.
func (f *follow) Deliver(ctx context.Context, b event.Batch) error {
	m := f.frame.message
	f.said = max(f.said, f.frame.maxSeq)
	f.behind = f.frame.full()
	if b.Last <= f.mergeTo && b.Count > 1 {
		joined, err := backlog.Merge(b)
		if err != nil {
			return err
		}
		m = messageOf(wire.AppendEvents(nil, f.session.ID(), f.session.Log().Epoch(), joined, f.frame.maxSeq))
	}
	f.frame = nil // a follow that waits for hours must not hold the frame
	if err := f.client.write(ctx, m); err != nil {
		return err
	}
	if f.behind {
		// Followers at the same cursor continue together and share the cached
		// frames. A follower whose socket takes everything at once would otherwise
		// use up its time slice and get too far ahead of them.
		runtime.Gosched()
	}
	return nil
}

func (f *follow) sendState(ctx context.Context) error {
	f.lastSent = time.Now()
	return onBorrowedStack(func() error {
		if s := f.session; !rung(s.Known()) || s.OpenError() != nil { // how far it was read
			return f.client.send(ctx, &wire.Reading{SessionID: s.ID(), AtSeq: s.ReadSeq(), MaxSeq: s.Log().Marks().Visible})
		}
		now, err := f.frames.state()
		if err != nil {
			return err
		}
		defer runtime.KeepAlive(now) // others send it meanwhile
		return f.client.write(ctx, now.message)
	})
}

// onBorrowedStack calls f in a new goroutine and waits for it. Encoding needs more
// than 4 KiB of stack, and a goroutine that has needed as much keeps 8 KiB while it
// waits for hours.
func onBorrowedStack(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}

// rung reports whether the channel is closed.
func rung(bell <-chan struct{}) bool {
	select {
	case <-bell:
		return true
	default:
		return false
	}
}

// tellComments sends the number of comments if it changed, and makes the next
// change wake the follower.
func (f *follow) tellComments(ctx context.Context, wake *observer.Wake) error {
	if f.commentsChanged != nil && !rung(f.commentsChanged) {
		wake.Bells[1] = f.commentsChanged
		return nil
	}
	f.commentsChanged = f.session.CommentsChanged()
	wake.Bells[1] = f.commentsChanged
	now := f.session.CommentCount()
	if now.Version == f.commentsSaid {
		return nil
	}
	f.commentsSaid = now.Version
	return onBorrowedStack(func() error {
		return f.client.send(ctx, &wire.Comments{SessionID: f.session.ID(), Version: now.Version, Count: now.Count, Open: now.Open})
	})
}
