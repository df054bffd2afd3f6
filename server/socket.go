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

// farewell limits the time to close a socket with its close frame.
const farewell = time.Second

// errGone means that the socket is closing and accepts no more messages.
var errGone = errors.New("socket is ending")

// ending says why and how a socket ends.
type ending struct {
	code   websocket.StatusCode
	reason string
	// goodbye sends a goodbye frame first, for a planned close.
	goodbye    bool
	retryAfter time.Duration
	// dead skips the close frame, because the other end has disappeared.
	dead bool
}

// socket is one WebSocket connection with one writer at a time. Writers wait for
// the turn. There is no queue.
type socket struct {
	conn  *websocket.Conn // reads, handles control frames, closes
	under *socketConn     // the connection below conn; messages are written to it
	ended chan struct{}   // closed by end
	leave func()          // called by end: starts closing the socket, does not wait

	once sync.Once
	why  ending // readable once ended is closed

	lastWrite atomic.Int64 // ns of the monotonic clock since epoch
	lastRead  atomic.Int64
	epoch     time.Time
}

// newSocket returns a socket. The caller must set its leave.
func newSocket(conn *websocket.Conn, under *socketConn) *socket {
	return &socket{conn: conn, under: under, ended: make(chan struct{}), epoch: time.Now()}
}

// end tells the socket to end; the first reason counts. It does not wait.
func (s *socket) end(e ending) {
	s.once.Do(func() {
		s.why = e
		close(s.ended)
		s.leave()
	})
}

// write waits for the turn and writes one message. A failure, or a message that is
// not taken within the limit, ends the socket. Then the error is errGone, or ctx's
// if the turn did not come.
func (s *socket) write(ctx context.Context, m message) error {
	select {
	case s.under.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return errGone
	}
	defer func() { <-s.under.turn }()
	// The turn may have come at the same moment as the end of the socket or of ctx.
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
	// The last frame may be incomplete, so nothing more can follow. If it was too
	// slow, the connection has left a close frame; otherwise the client sees it
	// break. It reconnects either way.
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.end(ending{code: wire.CloseTooSlow, reason: tooSlow, dead: true})
	} else {
		s.end(ending{dead: true})
	}
	return errGone
}

// writing reports whether a frame is being written.
func (s *socket) writing() bool { return len(s.under.turn) > 0 }

// wrote returns the time since the last frame was sent.
func (s *socket) wrote() time.Duration {
	return time.Since(s.epoch) - time.Duration(s.lastWrite.Load())
}

// heard returns the time since the other end last sent something.
func (s *socket) heard() time.Duration {
	return time.Since(s.epoch) - time.Duration(s.lastRead.Load())
}

// sign records that the other end has sent something.
func (s *socket) sign() { s.lastRead.Store(int64(time.Since(s.epoch))) }

// close sends the reason, if the other end takes it within the limit, and closes
// the connection. A goroutine must be reading meanwhile, or the other end's close
// is not seen.
func (s *socket) close() {
	defer s.conn.CloseNow()
	<-s.ended
	if s.why.dead {
		return
	}
	// Not CloseNow, which waits for a running Close.
	bound := time.AfterFunc(farewell, func() { s.under.Close() })
	defer bound.Stop()
	if s.why.goodbye && !s.sayGoodbye() {
		return
	}
	s.conn.Close(s.why.code, s.why.reason)
}

// sayGoodbye reports whether the goodbye was written. A writer in the middle of a
// frame finishes first, or the limit ends both.
func (s *socket) sayGoodbye() bool {
	frame, err := wire.Encode(&wire.Goodbye{Reason: s.why.reason, RetryAfterMS: s.why.retryAfter.Milliseconds()})
	if err != nil { // a struct of a string and a number
		panic(err)
	}
	s.under.turn <- struct{}{}
	defer func() { <-s.under.turn }()
	return s.under.send(messageOf(frame)) == nil
}
