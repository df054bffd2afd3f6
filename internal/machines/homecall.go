package machines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/abidehub/abide/session/state"
)

const (
	// callBound is the longest silence of a call: a machine that works on it sends parts or
	// the end.
	callBound = 5 * time.Minute
	// mostCalls limits the calls under way to one machine.
	mostCalls = 256
)

// calls are the calls under way over one link.
type calls struct {
	mu    sync.Mutex
	next  uint64
	open  map[string]*homeCall
	ended bool
}

// homeCall is a call that waits for parts of its answer.
type homeCall struct {
	parts chan *nats.Msg // one part at a time: the machine waits for each acknowledgement
	free  atomic.Bool    // the next part may come
	lost  chan struct{}  // closed when no more can come
}

func newCalls() calls { return calls{open: map[string]*homeCall{}} }

func (c *calls) begin() (id string, call *homeCall, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return "", nil, ErrAway
	case len(c.open) >= mostCalls:
		return "", nil, fmt.Errorf("%w: the machine has %d requests under way", state.ErrBusy, mostCalls)
	}
	c.next++
	id = strconv.FormatUint(c.next, 10)
	call = &homeCall{parts: make(chan *nats.Msg, 1), lost: make(chan struct{})}
	call.free.Store(true)
	c.open[id] = call
	return id, call, nil
}

func (c *calls) done(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}

func (c *calls) get(id string) *homeCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// asked reports whether there was such a call: its answer may come when nobody waits any
// more.
func (c *calls) asked(id string) bool {
	n, err := strconv.ParseUint(id, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && n > 0 && n <= c.next
}

// lose ends a call: its answer is not what an answer is.
func (c *calls) lose(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.open[id]; call != nil {
		close(call.lost)
		delete(c.open, id)
	}
}

// lastWord is what follows the last dot of a subject.
func lastWord(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// fail ends all: no more parts come.
func (c *calls) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, call := range c.open {
		close(call.lost)
	}
	clear(c.open)
}

// takeAnswer hands a part of an answer to its call.
func (l *link) takeAnswer(m *nats.Msg) {
	id := lastWord(m.Subject)
	call := l.calls.get(id)
	if call == nil {
		if !l.calls.asked(id) {
			l.home.refuse(l, "an answer nobody asked for")
		}
		return
	}
	if call.free.CompareAndSwap(true, false) {
		call.parts <- m // there is room: the one before was taken
	} else {
		l.home.refuse(l, "parts of an answer that do not wait")
		l.calls.lose(id)
	}
}

// Call runs a request by the machine's own handlers, on behalf of a caller, and writes their
// answer. An error means that nothing was written: ErrAway if the call did not reach the
// machine, ErrOpen if whether it took effect is not known. An answer that breaks off later
// ends the handler as http.ErrAbortHandler does.
func (h *Home) Call(w http.ResponseWriter, r *http.Request, machine string, by Caller) error {
	h.mu.Lock()
	l := h.links[machine]
	known := h.record.machine(machine) != nil
	h.mu.Unlock()
	switch {
	case !known:
		return ErrUnknown
	case l == nil || !l.met():
		return ErrAway
	}
	id, call, err := l.calls.begin()
	if err != nil {
		return err
	}
	defer l.calls.done(id)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	sent := make(chan struct{})
	if err := l.begin(ctx, id, r, by, sent); err != nil {
		close(sent)
		return err
	}
	defer func() { cancel(); <-sent }()
	return l.answer(ctx, w, id, call)
}

// begin sends the request, and what is behind the first part of its body in a goroutine
// that closes sent.
func (l *link) begin(ctx context.Context, id string, r *http.Request, by Caller, sent chan struct{}) error {
	first := make([]byte, partBytes)
	n, err := io.ReadFull(r.Body, first)
	more := err == nil
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head := callHead{Method: r.Method, Target: r.URL.RequestURI(), Header: forwarded(r.Header), Caller: by, Length: r.ContentLength, More: more}
	if err := l.conn.Publish(below(l.id, "call."+id+".begin"), message(head, first[:n])); err != nil {
		return ErrAway
	}
	if !more {
		close(sent)
		return nil
	}
	go func() {
		defer close(sent)
		l.sendBody(ctx, id, r.Body)
	}()
	return nil
}

// sendBody sends the rest of a body, a part at a time.
func (l *link) sendBody(ctx context.Context, id string, body io.Reader) {
	part := make([]byte, partBytes)
	for more := true; more; {
		n, err := io.ReadFull(body, part)
		more = err == nil
		head := partHead{More: more, Failed: err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)}
		if _, err := l.conn.RequestWithContext(ctx, below(l.id, "call."+id+".body"), message(head, part[:n])); err != nil {
			return // the answer says what became of it
		}
	}
}

// answer writes the parts of the answer as they come.
func (l *link) answer(ctx context.Context, w http.ResponseWriter, id string, call *homeCall) error {
	begun := false
	broken := func(err error) error {
		_ = l.conn.Publish(below(l.id, "call."+id+".cancel"), nil)
		if begun {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	silence := time.NewTimer(callBound)
	defer silence.Stop()
	for {
		var m *nats.Msg
		select {
		case m = <-call.parts:
		case <-call.lost:
			return broken(ErrOpen)
		case <-silence.C:
			return broken(ErrOpen)
		case <-ctx.Done():
			return broken(ctx.Err())
		}
		silence.Reset(callBound)
		var head answerHead
		part, err := parse(m.Data, &head)
		if err != nil || !begun && (head.Status < 200 || head.Status > 599) || begun && head.Status != 0 {
			l.home.refuse(l, "an answer whose parts are in no order")
			return broken(ErrOpen)
		}
		if head.More && m.Reply == "" {
			l.home.refuse(l, "parts of an answer that do not wait")
			return broken(ErrOpen)
		}
		if head.Broken {
			return broken(ErrOpen)
		}
		if head.Status == http.StatusUnauthorized {
			head.Status = http.StatusForbidden // the person is known at home
		}
		if !begun {
			begun = true
			passed(w.Header(), head.Header)
			w.WriteHeader(head.Status)
		}
		if _, err := w.Write(part); err != nil {
			return broken(err)
		}
		if !head.More {
			return nil
		}
		_ = http.NewResponseController(w).Flush()
		call.free.Store(true)
		if err := m.Respond(nil); err != nil {
			return broken(ErrOpen)
		}
	}
}

// forwarded are the headers of a request that concern the machine's handlers.
func forwarded(in http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Accept", "Content-Type", "Idempotency-Key", "If-None-Match", "If-Modified-Since", "If-Range", "Range", "Last-Event-ID"} {
		if values := in.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// passed are the headers of an answer that a machine may set. What it answers runs nothing at
// home's origin, whatever it says that it is.
func passed(out, in http.Header) {
	for _, name := range []string{"Cache-Control", "Content-Disposition", "Content-Length", "Content-Range", "Content-Type", "Accept-Ranges", "Etag", "Last-Modified", "Location", "Retry-After"} {
		if values := in.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	if at := out.Get("Location"); at != "" && (!strings.HasPrefix(at, "/") || strings.HasPrefix(at, "//") || strings.Contains(at, "\\")) {
		out.Del("Location")
	}
	out.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	out.Set("X-Content-Type-Options", "nosniff")
}
