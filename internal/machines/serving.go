package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/abidehub/abide/session/state"
)

const (
	// rowsEvery is the shortest time between two messages of changed rows.
	rowsEvery = 50 * time.Millisecond
	// rowsAtOnce is how many rows are in one message.
	rowsAtOnce = 100
	// goneAtOnce is how many ids of sessions that are gone are.
	goneAtOnce = 5000
	// ackBound is how long home may take to acknowledge a part that it keeps no reader for.
	ackBound = 30 * time.Second
)

// serving is a machine's side of one connection.
type serving struct {
	member *Member
	hub    Hub
	as     *membership
	conn   *nats.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	wait   sync.WaitGroup // calls and reads

	mu    sync.Mutex
	calls map[string]*memberCall
	reads int
}

// memberCall is a call that this machine works on.
type memberCall struct {
	cancel context.CancelFunc
	body   *io.PipeWriter // nil if no more comes
	taking atomic.Bool    // a part of it is being read
}

func newServing(m *Member, hub Hub, as *membership, conn *nats.Conn) *serving {
	s := &serving{member: m, hub: hub, as: as, conn: conn, calls: map[string]*memberCall{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// end ends the connection and what it asked for.
func (s *serving) end() {
	s.cancel()
	s.conn.Close()
	s.wait.Wait()
}

func (s *serving) listen(ctx context.Context) error {
	// One subscription, because the order is kept within one only.
	_, err := s.conn.Subscribe(below(s.member.o.ID, "call.*.*"), func(m *nats.Msg) {
		words := strings.Split(m.Subject, ".")
		id, what := words[len(words)-2], words[len(words)-1]
		switch what {
		case "begin":
			s.takeCall(id, m)
		case "body":
			s.takeBody(id, m)
		case "cancel":
			s.takeCancel(id)
		}
	})
	if err == nil {
		_, err = s.conn.Subscribe(below(s.member.o.ID, "read"), s.takeRead)
	}
	if err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	return s.conn.FlushWithContext(bound)
}

// request says something to home and waits for its acknowledgement.
func (s *serving) request(ctx context.Context, name string, data []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, ackBound)
	defer cancel()
	return s.conn.RequestWithContext(ctx, below(s.member.o.ID, name), data)
}

// sendRows sends all rows, and then those that change, until ctx ends.
func (s *serving) sendRows(ctx context.Context) error {
	hub, version, first := s.hub, uint64(0), true
	for {
		changed := hub.Changed()
		rows, gone, now := hub.ChangesSince(version)
		for first || len(rows) > 0 || len(gone) > 0 {
			n, g := s.fitting(rows), min(len(gone), goneAtOnce)
			m := rowsMessage{First: first, Rows: slices.DeleteFunc(slices.Clone(rows[:n]), tooLong), Gone: gone[:g], More: n < len(rows) || g < len(gone)}
			if err := s.say(ctx, m); err != nil {
				return err
			}
			rows, gone, first = rows[n:], gone[g:], false
		}
		version = now
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(rowsEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fitting is how many rows go into the next message.
func (s *serving) fitting(rows []state.Info) (n int) {
	size := 0
	for n < min(len(rows), rowsAtOnce) && size < mostRowsMessage/2 {
		if length := lengthOf(rows[n]); length > mostRowBytes {
			s.member.o.Logger.Warn("the line of a session is too long for home's list", "session", rows[n].SessionID, "bytes", length)
		} else {
			size += length
		}
		n++
	}
	return n
}

func lengthOf(i state.Info) int {
	line, err := json.Marshal(i)
	if err != nil {
		return mostRowBytes + 1
	}
	return len(line)
}

func tooLong(i state.Info) bool { return lengthOf(i) > mostRowBytes }

// say sends a message of rows.
func (s *serving) say(ctx context.Context, m rowsMessage) error {
	got, err := s.request(ctx, "rows", message(m, nil))
	if err != nil {
		return fmt.Errorf("home does not take the list: %w", err)
	}
	var answer rowsAnswer
	if err := json.Unmarshal(got.Data, &answer); err != nil {
		return fmt.Errorf("home does not answer as abide does: %w", err)
	}
	if answer.Refused != "" {
		return fmt.Errorf("home does not take the list: %s", words(answer.Refused))
	}
	s.member.notified.Store(answer.Notifies)
	return nil
}

// takeCall begins a call.
func (s *serving) takeCall(id string, m *nats.Msg) {
	var head callHead
	first, err := parse(m.Data, &head)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	call := &memberCall{cancel: cancel}
	body := io.Reader(strings.NewReader(string(first)))
	if head.More {
		rest, into := io.Pipe()
		call.body = into
		body = io.MultiReader(body, rest)
		context.AfterFunc(ctx, func() { into.CloseWithError(context.Canceled); rest.CloseWithError(context.Canceled) })
	}
	s.mu.Lock()
	if len(s.calls) >= mostCalls || s.calls[id] != nil {
		s.mu.Unlock()
		cancel()
		answer := &answering{serving: s, id: id, ctx: s.ctx, header: http.Header{}}
		answer.header.Set("Retry-After", "1")
		answer.WriteHeader(http.StatusTooManyRequests)
		answer.finish()
		return
	}
	s.calls[id] = call
	s.mu.Unlock()
	s.wait.Go(func() {
		defer cancel()
		defer func() {
			s.mu.Lock()
			delete(s.calls, id)
			s.mu.Unlock()
		}()
		s.serve(ctx, id, head, body)
	})
}

// serve runs a call by this hub's handlers.
func (s *serving) serve(ctx context.Context, id string, head callHead, body io.Reader) {
	answer := &answering{serving: s, id: id, ctx: ctx, header: http.Header{}}
	defer answer.finish()
	r, err := http.NewRequestWithContext(ctx, head.Method, "http://home"+head.Target, body)
	if err != nil || !strings.HasPrefix(head.Target, "/") {
		answer.WriteHeader(http.StatusBadRequest)
		return
	}
	r.RequestURI = head.Target
	r.ContentLength = head.Length
	r.RemoteAddr = "home"
	r.Header = forwarded(head.Header) // whatever home sends: the grant is what it is by
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			s.member.o.Logger.Error("a call from home failed", "method", head.Method, "path", r.URL.Path, "err", p)
			answer.broken = true
		} else if p != nil {
			answer.broken = true
		}
	}()
	s.hub.Serve(answer, r, head.Caller.plain(), s.as.Allow, s.live)
}

// live reports whether the membership and the connection still are.
func (s *serving) live() error {
	if s.ctx.Err() != nil || !s.member.is(s.as) {
		return errors.New("the machine left home, or is not connected any more")
	}
	return nil
}

// takeBody takes a later part of a call's body, and acknowledges it once it was read.
func (s *serving) takeBody(id string, m *nats.Msg) {
	s.mu.Lock()
	call := s.calls[id]
	s.mu.Unlock()
	if call == nil || call.body == nil {
		_ = m.Respond(nil) // the call has ended
		return
	}
	if !call.taking.CompareAndSwap(false, true) { // home waits for each acknowledgement
		call.cancel()
		return
	}
	s.wait.Go(func() {
		var head partHead
		part, err := parse(m.Data, &head)
		if err == nil {
			_, err = call.body.Write(part)
		}
		switch {
		case err != nil || head.Failed:
			call.body.CloseWithError(io.ErrUnexpectedEOF)
		case !head.More:
			call.body.Close()
		}
		call.taking.Store(false)
		_ = m.Respond(nil)
	})
}

func (s *serving) takeCancel(id string) {
	s.mu.Lock()
	call := s.calls[id]
	s.mu.Unlock()
	if call != nil {
		call.cancel()
	}
}

// answering sends an answer in parts as it is written.
type answering struct {
	serving *serving
	id      string
	ctx     context.Context
	header  http.Header
	status  int
	sent    bool // the status was sent
	broken  bool // the rest is missing: home learns it by the silence of the call
	part    []byte
	err     error
}

// Header implements http.ResponseWriter.
func (a *answering) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answering) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answering) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	written := 0
	for len(data) > 0 && a.err == nil {
		n := min(len(data), partBytes-len(a.part))
		a.part = append(a.part, data[:n]...)
		data, written = data[n:], written+n
		if len(a.part) == partBytes {
			a.send(true)
		}
	}
	return written, a.err
}

// FlushError is what http.ResponseController calls.
func (a *answering) FlushError() error {
	a.WriteHeader(http.StatusOK)
	if a.err == nil && (len(a.part) > 0 || !a.sent) {
		a.send(true)
	}
	return a.err
}

// Flush implements http.Flusher.
func (a *answering) Flush() { _ = a.FlushError() }

// send sends the part. A part that is not the last is acknowledged once its reader has it.
func (a *answering) send(more bool) {
	head := answerHead{More: more}
	if !a.sent {
		head.Status, head.Header, a.sent = a.status, a.header, true
	}
	data := message(head, a.part)
	a.part = a.part[:0]
	subject := below(a.serving.member.o.ID, "answer."+a.id)
	if more {
		_, a.err = a.serving.conn.RequestWithContext(a.ctx, subject, data)
	} else {
		a.err = a.serving.conn.Publish(subject, data)
	}
}

// finish sends the end of the answer.
func (a *answering) finish() {
	if a.broken {
		// What was sent is not the whole: an end without a status breaks the answer off.
		if a.sent {
			_ = a.serving.conn.Publish(below(a.serving.member.o.ID, "answer."+a.id), message(answerHead{Broken: true}, nil))
			return
		}
		a.status, a.header, a.part = http.StatusInternalServerError, http.Header{}, nil
	}
	if a.err == nil {
		a.WriteHeader(http.StatusOK)
		a.send(false)
	}
}
