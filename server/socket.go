package server

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/server/wire"
)

// farewell bounds how long a socket that ends may take to say so.
const farewell = time.Second

// errGone says that the socket is ending and takes nothing more.
var errGone = errors.New("socket is ending")

// ending is why and how a socket ends.
type ending struct {
	code   websocket.StatusCode
	reason string
	// goodbye sends a goodbye frame first: a planned close.
	goodbye    bool
	retryAfter time.Duration
	// dead skips the farewell: the other end is gone.
	dead bool
}

// socket is one WebSocket connection with one writer at a time. Writers wait
// for the turn; nothing is queued.
type socket struct {
	conn  *websocket.Conn // reads, answers and asks for signs of life, closes
	under *socketConn     // the connection below conn, which messages are written to
	ended chan struct{}   // closed by end
	leave func()          // called by end: begins to close the socket, and does not wait

	once sync.Once
	why  ending // readable once ended is closed

	lastWrite atomic.Int64 // ns of the monotonic clock since epoch
	lastRead  atomic.Int64
	epoch     time.Time
}

// newSocket returns a socket. Its leave is still to be set.
func newSocket(conn *websocket.Conn, under *socketConn) *socket {
	return &socket{conn: conn, under: under, ended: make(chan struct{}), epoch: time.Now()}
}

// end asks the socket to end; the first reason counts. It does not wait.
func (s *socket) end(e ending) {
	s.once.Do(func() {
		s.why = e
		close(s.ended)
		s.leave()
	})
}

// write waits for the turn and writes one message. One that is not taken within
// the bound ends the socket, and so does any other failure; then the error is
// errGone, or ctx's if the turn did not come.
func (s *socket) write(ctx context.Context, m message) error {
	select {
	case s.under.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return errGone
	}
	defer func() { <-s.under.turn }()
	// The turn may have come at the same moment as the end of either.
	if rung(s.ended) {
		return errGone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.under.send(m)
	if err == nil {
		s.lastWrite.Store(int64(time.Since(s.epoch)))
		return nil
	}
	// The bytes sent may end in the middle of a frame, so nothing more can follow
	// here. Where the bound was passed, the connection has left a close frame
	// behind; else the client sees it break. Either way it comes back.
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.end(ending{code: wire.CloseTooSlow, reason: tooSlow, dead: true})
	} else {
		s.end(ending{dead: true})
	}
	return errGone
}

// writing reports whether a frame is in flight.
func (s *socket) writing() bool { return len(s.under.turn) > 0 }

// wrote is how long ago the last frame went out.
func (s *socket) wrote() time.Duration {
	return time.Since(s.epoch) - time.Duration(s.lastWrite.Load())
}

// heard is how long ago the other end was last heard of.
func (s *socket) heard() time.Duration {
	return time.Since(s.epoch) - time.Duration(s.lastRead.Load())
}

// sign notes that the other end was heard of.
func (s *socket) sign() { s.lastRead.Store(int64(time.Since(s.epoch))) }

// close says why the socket ends, as far as the other end takes it within the
// bound, and closes the connection. A goroutine must be reading meanwhile, or the
// other end's close is not seen.
func (s *socket) close() {
	defer s.conn.CloseNow()
	<-s.ended
	if s.why.dead {
		return
	}
	// Not CloseNow: while a Close is under way that waits for it.
	bound := time.AfterFunc(farewell, func() { s.under.Close() })
	defer bound.Stop()
	if s.why.goodbye && !s.sayGoodbye() {
		return
	}
	s.conn.Close(s.why.code, s.why.reason)
}

// sayGoodbye reports whether the goodbye is on its way. A writer in the middle
// of a frame finishes first, or the bound ends both.
func (s *socket) sayGoodbye() bool {
	frame, err := wire.Encode(&wire.Goodbye{Reason: s.why.reason, RetryAfterMS: s.why.retryAfter.Milliseconds()})
	if err != nil { // a struct of a string and a number
		panic(err)
	}
	s.under.turn <- struct{}{}
	defer func() { <-s.under.turn }()
	return s.under.send(messageOf(frame)) == nil
}
