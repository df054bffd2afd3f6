// Package running holds admitted HTTP requests while they run: each ends with its grant,
// and those that cost much take turns.
package running

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
)

// Request is an admitted request while it runs. It lasts as long as its grant: when that
// ends, its context ends, its body can no longer be read, and its answer is a refusal
// in the place of what the handler answers. An answer that has begun is cut.
type Request struct {
	admitted Admitted
	conn     net.Conn                 // nil if the request did not come over a connection of Serve
	control  *http.ResponseController // nil of Until
	cancel   context.CancelCauseFunc

	mu    sync.Mutex
	begun bool  // the header of the answer was sent
	done  bool  // the handler has returned, or ended the grant itself
	over  error // why the request may not go on
}

// Admitted is what a request was admitted with.
type Admitted struct {
	Grant auth.Grant
	// Now returns the grant as it is now, or an error if it has ended.
	Now func() (auth.Grant, error)
	// May reports whether a grant suffices for the request. Forbidden is its error if one
	// no longer does.
	May       func(auth.Grant) bool
	Forbidden error
	// Refuse sends a refusal as the answer.
	Refuse func(http.ResponseWriter, error)
}

// Hold makes a request last as long as its grant, until LetGo. The handler uses the returned
// writer and request.
func (s *Set) Hold(w http.ResponseWriter, r *http.Request, a Admitted) (*Request, http.ResponseWriter, *http.Request) {
	ctx, cancel := context.WithCancelCause(r.Context())
	h := &Request{admitted: a, conn: ConnOf(r), control: http.NewResponseController(w), cancel: cancel}
	r = r.WithContext(ctx)
	r.Body = heldBody{r.Body, h}
	s.add(h)
	return h, &heldWriter{ResponseWriter: w, held: h}, r
}

// Until returns a context of ctx that ends with a grant, for what goes on after its request.
func (s *Set) Until(ctx context.Context, a Admitted) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	h := &Request{admitted: a, cancel: cancel}
	s.add(h)
	context.AfterFunc(ctx, func() { s.remove(h) })
	_ = h.Check() // it may have ended before
	return ctx
}

// LetGo ends what Hold began: the handler has returned.
func (s *Set) LetGo(h *Request) {
	h.Release()
	s.remove(h)
	h.cancel(nil)
}

// Check asks the registry whether the grant is still good.
func (h *Request) Check() error {
	h.mu.Lock()
	over, done := h.over, h.done
	h.mu.Unlock()
	if over != nil || done {
		return over
	}
	now, err := h.admitted.Now()
	switch {
	case err != nil:
		err = &auth.Refusal{
			Status: http.StatusUnauthorized, Ended: h.admitted.Grant.Kind == auth.KindDevice,
			Message: "this access ended while the request was under way: nothing was answered",
		}
	case !h.admitted.May(now):
		err = h.admitted.Forbidden
	default:
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return nil
	}
	if h.over == nil {
		h.over = err
		h.cancel(err)
	}
	return h.over
}

// end ends a request whose grant has ended. An answer that has begun is cut, with what
// the kernel holds for a slow reader; a body that is waited for is not any more.
func (h *Request) end() {
	if h.Check() == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return // the connection may have another request by now
	}
	if h.control == nil {
		return // its context has ended
	}
	if !h.begun {
		_ = h.control.SetReadDeadline(time.Now()) // not of a test's ResponseWriter
		return
	}
	if tcp, ok := h.conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0) // a closed connection has nothing to drop
	}
	if h.conn != nil {
		_ = h.conn.Close()
	}
}

// Release lets the request go on without its grant, which it has ended itself, or
// because its handler has returned.
func (h *Request) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = true
}

// heldBody is the body of a held request. Its end is an error if the grant has ended by
// then, so a handler does not act on it.
type heldBody struct {
	io.ReadCloser
	held *Request
}

func (b heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if over := b.held.Check(); over != nil {
		return n, over
	}
	return n, err
}

// heldWriter is the answer to a held request.
type heldWriter struct {
	http.ResponseWriter
	held *Request
}

// Unwrap lets http.ResponseController find the connection.
func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *heldWriter) WriteHeader(status int) {
	if w.admit() == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *heldWriter) Write(p []byte) (int, error) {
	if err := w.admit(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// admit begins the answer, or refuses instead of it.
func (w *heldWriter) admit() error {
	over := w.held.Check()
	w.held.mu.Lock()
	begun := w.held.begun
	w.held.begun = true
	w.held.mu.Unlock()
	if over == nil || begun {
		return over
	}
	clear(w.Header())
	w.held.admitted.Refuse(w.ResponseWriter, over)
	return over
}

// Set holds the running requests.
type Set struct {
	mu   sync.Mutex
	open map[*Request]struct{}
}

func (s *Set) add(h *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*Request]struct{})
	}
	s.open[h] = struct{}{}
}

func (s *Set) remove(h *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, h)
}

// ownEnd is how long a stream whose grant has expired may take to end by itself.
const ownEnd = time.Second

// Regrant ends the requests whose grant is no longer in the registry.
func (s *Set) Regrant() {
	s.mu.Lock()
	list := make([]*Request, 0, len(s.open))
	for h := range s.open {
		list = append(list, h)
	}
	s.mu.Unlock()
	for _, h := range list {
		end := h.admitted.Grant.ExpiresAt
		if over := time.Since(end); h.control != nil && !end.IsZero() && over >= 0 && over < ownEnd {
			continue // a stream ends with a message unless its client reads too slowly
		}
		h.end()
	}
}

type connKey struct{}

// WithConn is the ConnContext of an http.Server. It lets a handler find the connection of its request.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// ConnOf returns the connection of a request; nil if it did not come over Serve.
func ConnOf(r *http.Request) net.Conn {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	return conn
}
