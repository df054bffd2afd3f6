package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// firstPause is the longest wait before the first attempt to connect again.
const firstPause = 100 * time.Millisecond

// Update is one piece of news from a Watch.
type Update struct {
	Change
	// State is the newest state, once the cursor has reached it; nil where it
	// did not change.
	State *wire.State
	// Connected is nil but for the first update of each connection.
	Connected *wire.Connected
	// Lost is why the connection ended, in the update that says so: another is
	// being made. It is nil in every other update.
	Lost error
}

// Watch keeps one session true to the hub's log over any number of
// connections: each resumes at the cursor of the one before.
type Watch struct {
	// LongestPause bounds the wait between two attempts to connect: 5 s unless
	// it is set before Run. Each wait is drawn at random from the upper half, so
	// that clients of a hub that restarts do not come back in step.
	LongestPause time.Duration

	hub     *Hub
	session string
	// owned by Run
	history *History
	state   *wire.State // came before the cursor reached it

	mu     sync.Mutex
	socket *Socket // nil while there is no connection
}

// NewWatch watches a session from a cursor, or from its newest page where that
// is zero.
func NewWatch(hub *Hub, sessionID string, from Cursor) *Watch {
	return &Watch{LongestPause: 5 * time.Second, hub: hub, session: sessionID, history: NewHistory(sessionID, from)}
}

// Socket is the connection of the moment, for prompts and answers, or nil.
func (w *Watch) Socket() *Socket {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.socket
}

// History has the events applied so far. Only each may ask it while Run runs.
func (w *Watch) History() *History { return w.history }

// Run connects, hands every piece of news to each in order, and connects again
// whenever the connection ends. It is called once. It returns when ctx ends,
// when each returns an error, and when the hub says that asking again is of no
// use: a *RefusedError or *ClosedError that is final, or ErrSessionGone.
func (w *Watch) Run(ctx context.Context, each func(Update) error) error {
	pause := firstPause
	for {
		began := time.Now()
		err := w.connection(ctx, each)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s := (stopped{}); errors.As(err, &s) {
			return s.error
		}
		if w.final(err) {
			return err
		}
		if err := each(Update{Lost: err}); err != nil {
			return err
		}
		if time.Since(began) > w.LongestPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, w.LongestPause)
	}
}

// stopped is the error by which each ended the watch.
type stopped struct{ error }

func (w *Watch) final(err error) bool {
	if e := (*RefusedError)(nil); errors.As(err, &e) {
		return e.Final()
	}
	if e := (*ClosedError)(nil); errors.As(err, &e) {
		return e.Final() && !(e.Code == wire.CloseRevoked && w.hub.renews)
	}
	return errors.Is(err, ErrSessionGone)
}

func (w *Watch) connection(ctx context.Context, each func(Update) error) error {
	socket, err := w.hub.DialSession(ctx, w.session, w.history.Cursor())
	if err != nil {
		return err
	}
	w.history.Reconnected()
	w.state = nil
	w.use(socket)
	defer w.use(nil)
	connected := socket.Connected()
	if err := each(Update{Connected: &connected}); err != nil {
		socket.conn.CloseNow()
		return stopped{err}
	}
	return socket.Run(ctx, func(m wire.Message) error { return w.handle(ctx, socket, m, each) })
}

func (w *Watch) use(s *Socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.socket = s
}

func (w *Watch) handle(ctx context.Context, socket *Socket, m wire.Message, each func(Update) error) error {
	if gone, ok := m.(*wire.SessionGone); ok && gone.SessionID == w.session {
		return ErrSessionGone
	}
	change, err := w.history.Apply(m)
	if err != nil {
		return err // the next connection resumes by cursor and is told the verdict
	}
	if state, ok := m.(*wire.State); ok && state.SessionID == w.session {
		w.state = state
	}
	update := Update{Change: change}
	if w.state != nil && w.state.AtSeq <= w.history.Cursor().Seq {
		update.State, w.state = w.state, nil
	}
	if change.Missing != nil {
		change.Missing.RequestID = "gap"
		if err := socket.Send(ctx, change.Missing); err != nil {
			return err
		}
	}
	if update.State == nil && !change.Reset && len(change.Events) == 0 && len(change.Older) == 0 {
		return nil
	}
	if err := each(update); err != nil {
		return stopped{err}
	}
	return nil
}
