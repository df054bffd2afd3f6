package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/coder/websocket"
)

const (
	// maxServerFrame bounds one frame from the hub. Backlog frames are at most
	// 256 KiB, but a single larger event goes alone.
	maxServerFrame = 64 << 20
	// dialTimeout bounds the way to the hub's first frame.
	dialTimeout = 15 * time.Second
	// silentBeats is how many of the hub's heartbeats may be missed before the
	// connection counts as dead.
	silentBeats = 3
)

// Socket is one connection to the hub. Run reads it; every other method may be
// called at the same time from any goroutine, but not from Run's handler where
// it waits for an answer.
type Socket struct {
	conn      *websocket.Conn
	connected wire.Connected
	unknown   atomic.Int64

	mu      sync.Mutex
	asked   int
	waiting map[string]chan wire.Message
	// ended is closed when Run returns; waiting requests will not be answered.
	ended chan struct{}
}

// Dial opens a socket that observes nothing yet. A *RefusedError says the hub
// did not let it in.
func (h *Hub) Dial(ctx context.Context) (*Socket, error) {
	return h.dial(ctx, "/api/ws", nil)
}

// DialSession opens a socket that observes the session from its first frame
// on: after the cursor, or with the newest page where the cursor is zero.
func (h *Hub) DialSession(ctx context.Context, id string, from Cursor) (*Socket, error) {
	query := url.Values{}
	if from != (Cursor{}) {
		query.Set("after_seq", strconv.FormatInt(int64(from.Seq), 10))
		query.Set("epoch", from.Epoch)
	}
	return h.dial(ctx, "/api/sessions/"+url.PathEscape(id)+"/ws", query)
}

func (h *Hub) dial(ctx context.Context, path string, query url.Values) (*Socket, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	place, err := h.locate(ctx)
	if err != nil {
		return nil, err
	}
	target, err := place.url()
	if err != nil {
		return nil, err
	}
	target.RawPath, target.Path = "", path
	target.RawQuery = query.Encode()
	conn, res, err := websocket.Dial(ctx, target.String(), &websocket.DialOptions{
		HTTPClient:   h.http,
		HTTPHeader:   place.header(),
		Subprotocols: []string{wire.Subprotocol},
	})
	if err != nil {
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			return nil, refusal(res.StatusCode, nil)
		}
		return nil, fmt.Errorf("dial the hub: %w", err)
	}
	conn.SetReadLimit(maxServerFrame)
	s := &Socket{conn: conn, waiting: map[string]chan wire.Message{}, ended: make(chan struct{})}
	first, err := s.read(ctx)
	if err != nil {
		conn.CloseNow()
		return nil, fmt.Errorf("read the hub's first frame: %w", err)
	}
	connected, ok := first.(*wire.Connected)
	if !ok {
		conn.CloseNow()
		return nil, fmt.Errorf("the hub began with %q", first.MessageType())
	}
	s.connected = *connected
	return s, nil
}

// Connected is the hub's first frame.
func (s *Socket) Connected() wire.Connected { return s.connected }

// Unknown counts the frames of types this program does not know. They are
// ignored.
func (s *Socket) Unknown() int64 { return s.unknown.Load() }

// Run reads until ctx ends, the connection does or handle returns an error, and
// hands every frame to handle in the order of the wire, answers to requests
// included. It is called once, and closes the socket. The error is the cause of its
// end: handle's, ctx's, or a *ClosedError.
func (s *Socket) Run(ctx context.Context, handle func(wire.Message) error) error {
	defer close(s.ended)
	defer s.conn.CloseNow()
	silence := silentBeats * time.Duration(s.connected.HeartbeatMS) * time.Millisecond
	if silence <= 0 {
		silence = time.Minute
	}
	for {
		m, err := s.readWithin(ctx, silence)
		if errors.Is(err, wire.ErrUnknownType) {
			s.unknown.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		if err := handle(m); err != nil {
			return err
		}
		s.answer(m)
	}
}

func (s *Socket) readWithin(ctx context.Context, silence time.Duration) (wire.Message, error) {
	limited, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	m, err := s.read(limited)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return m, err
}

func (s *Socket) read(ctx context.Context) (wire.Message, error) {
	_, frame, err := s.conn.Read(ctx)
	if err != nil {
		var closed websocket.CloseError
		if errors.As(err, &closed) {
			return nil, &ClosedError{Code: int(closed.Code), Reason: closed.Reason}
		}
		return nil, fmt.Errorf("read from the hub: %w", err)
	}
	return wire.DecodeServer(frame)
}

// Send writes one frame and waits for no answer. The frame must not be larger
// than wire.MaxClientFrame.
func (s *Socket) Send(ctx context.Context, m wire.Message) error {
	frame, err := wire.Encode(m)
	if err != nil {
		return err
	}
	if err := s.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return fmt.Errorf("send %s: %w", m.MessageType(), err)
	}
	return nil
}

// Close says goodbye to the hub and makes Run return.
func (s *Socket) Close() error {
	return s.conn.Close(websocket.StatusNormalClosure, "")
}

// ask sends a frame made with a fresh request id and waits for the frame that
// answers it. Run must be running.
func (s *Socket) ask(ctx context.Context, make func(requestID string) wire.Message) (wire.Message, error) {
	id, answer := s.expect()
	defer s.forget(id)
	if err := s.Send(ctx, make(id)); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		switch m := m.(type) {
		case *wire.Error:
			return nil, refused(m)
		case *wire.SessionGone:
			return nil, ErrSessionGone
		}
		return m, nil
	case <-s.ended:
		return nil, fmt.Errorf("the connection ended before the answer: %w", errConnectionLost)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errConnectionLost = errors.New("connection lost")

func (s *Socket) expect() (id string, answer <-chan wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id = "r" + strconv.Itoa(s.asked)
	c := make(chan wire.Message, 1)
	s.waiting[id] = c
	return id, c
}

func (s *Socket) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
}

func (s *Socket) answer(m wire.Message) {
	id := requestID(m)
	if id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.waiting[id]; ok {
		delete(s.waiting, id)
		c <- m // room for one, and only one is ever put in
	}
}

func requestID(m wire.Message) string {
	switch m := m.(type) {
	case *wire.EventsLoaded:
		return m.RequestID
	case *wire.PromptReceived:
		return m.RequestID
	case *wire.PromptQueued:
		return m.RequestID
	case *wire.PromptRemoved:
		return m.RequestID
	case *wire.PromptInterrupted:
		return m.RequestID
	case *wire.PermissionResolved:
		return m.RequestID
	case *wire.SessionGone:
		return m.RequestID
	case *wire.Error:
		return m.RequestID
	}
	return ""
}
