package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/running"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// stream sends a session's events as Server-Sent Events until the client
// disconnects: first an events_loaded with the verdict, then one message per event. In a
// form there is no verdict: a place that is not of the log is its beginning.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, given api.Given, own api.Watched, from backlog.Place, form api.Form) error {
	grant := given.Grant
	if !s.clients.take(grant) {
		return noPlace()
	}
	defer s.clients.leave(grant)
	if tcp, ok := running.ConnOf(r).(tcpConn); ok {
		if err := boundUnsent(tcp, unsentBytes); err != nil {
			return err
		}
	}
	loaded, page, cursor, err := backlog.SpanOf(own).Begin(r.Context(), from)
	if err != nil {
		return err
	}
	verdict, err := backlog.Encode(loaded, page, false)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sink := &eventStream{
		w: w, control: http.NewResponseController(w), epoch: loaded.Epoch,
		server: s, session: own, now: given.Now, form: form,
	}
	if form == nil {
		err = sink.message("events_loaded", cursor, verdict)
	} else {
		if loaded.Verdict == wire.VerdictReset {
			cursor = own.Log().Marks().Min - 1
		}
		err = sink.comment()
	}
	if err != nil {
		return nil // the client has disconnected
	}
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if end := grant.ExpiresAt; !end.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, end)
	}
	defer cancel()
	sink.beatAt = time.Now().Add(s.timing.Heartbeat)
	err = observer.New(own.Log(), sink, cursor, liveBytes).Run(ctx)
	if ctx.Err() == nil && !errors.Is(err, errGone) && !errors.Is(err, observer.ErrEnded) {
		s.logger.Error("stream ended", "session", own.ID(), "err", err)
	}
	// The deadline of the last message may be over, so the end of the response
	// needs a new one.
	_ = sink.control.SetWriteDeadline(time.Now().Add(s.timing.Write))
	return nil // the response has begun, so an error can only end it
}

func stillMay(grant func() (auth.Grant, error), sessionID string) error {
	now, err := grant()
	if err != nil || !now.May(auth.Read, sessionID) {
		return errGone
	}
	return nil
}

// eventStream is the sink of one stream.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	epoch   string

	server  *Server
	session api.Watched
	now     func() (auth.Grant, error)
	form    api.Form  // nil sends the events as they are
	beatAt  time.Time // when the next heartbeat comment is due
}

// Attend implements observer.Attendant. It ends the stream when the hub stops or
// the grant was revoked, and sends a comment at each heartbeat.
func (e *eventStream) Attend(context.Context) (observer.Wake, error) {
	s, regranted := e.server, e.server.registry.Changed()
	if err := stillMay(e.now, e.session.ID()); err != nil || rung(s.clients.closed) {
		return observer.Wake{}, errGone
	}
	if now := time.Now(); !now.Before(e.beatAt) {
		if err := e.comment(); err != nil {
			return observer.Wake{}, err
		}
		e.beatAt = now.Add(s.timing.Heartbeat)
	}
	return observer.Wake{
		Bells: [3]<-chan struct{}{regranted, s.clients.closed, e.session.Done()},
		At:    e.beatAt,
		Last:  rung(e.session.Done()),
	}, nil
}

// Deliver implements observer.Sink.
func (e *eventStream) Deliver(_ context.Context, b event.Batch) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.server.timing.Write)); err != nil {
		return fmt.Errorf("bounding a write: %w", err)
	}
	seq := b.First
	for g := range b.Headers() {
		name, data := e.formed(g.JSON)
		if data != nil {
			if err := e.write(name, seq, data); err != nil {
				return err
			}
		}
		seq++
	}
	return e.flush()
}

// formed is an event as the stream sends it; nil if it leaves it out.
func (e *eventStream) formed(data []byte) (name string, message []byte) {
	if e.form == nil {
		return "", data
	}
	var told event.Event
	if json.Unmarshal(data, &told) != nil {
		return "", nil
	}
	return e.form(told)
}

func (e *eventStream) message(name string, seq event.Seq, data []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.server.timing.Write)); err != nil {
		return fmt.Errorf("bounding a write: %w", err)
	}
	if err := e.write(name, seq, data); err != nil {
		return err
	}
	return e.flush()
}

// write sends one message. Events have no name, so that a browser's onmessage gets
// them. The data is one line of JSON as in the log.
func (e *eventStream) write(name string, seq event.Seq, data []byte) error {
	if name != "" {
		name = "event: " + name + "\n"
	}
	if _, err := fmt.Fprintf(e.w, "%sid: %s:%d\ndata: %s\n\n", name, e.epoch, seq, data); err != nil {
		return errGone
	}
	return nil
}

func (e *eventStream) comment() error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.server.timing.Write)); err != nil {
		return fmt.Errorf("bounding a write: %w", err)
	}
	if _, err := e.w.Write([]byte(":\n\n")); err != nil {
		return errGone
	}
	return e.flush()
}

func (e *eventStream) flush() error {
	if e.control.Flush() != nil {
		return errGone
	}
	return nil
}
