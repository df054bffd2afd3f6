package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// The first and the longest pause between attempts to record while the log is
// blocked.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

var errDetached = errors.New("the session no longer takes this agent's output")

// recordOutput writes payloads of a sink, with their drafts, in the session's
// goroutine. It returns how many were handled. After an error the sink may offer the
// rest again.
type recordOutput func(ctx context.Context, from *sink, payloads []event.Payload, drafts []event.Draft) (done int, err error)

// sink is one agent's AgentSink.
type sink struct {
	record recordOutput
	ended  <-chan struct{} // closed when the session accepts no more output
	// ctx ends when a starting agent is no longer wanted.
	ctx    context.Context
	cancel context.CancelFunc
	closed chan struct{}
	// starting takes the last lines that a starting agent wrote to stderr; nil if there
	// is no use for them. Set at construction.
	starting func(words string)
	once     sync.Once
}

func newSink(record recordOutput, ended <-chan struct{}) *sink {
	ctx, cancel := context.WithCancel(context.Background())
	return &sink{record: record, ended: ended, ctx: ctx, cancel: cancel, closed: make(chan struct{})}
}

// close releases an agent that waits to record.
func (s *sink) close() {
	s.once.Do(func() {
		s.cancel()
		close(s.closed)
	})
}

// Starting implements AgentSink.
func (s *sink) Starting(stderr string) {
	if s.starting != nil {
		s.starting(lastLines(stderr, lastWords))
	}
}

// Record implements AgentSink. It encodes in the agent's goroutine, and waits there
// while the log is blocked. The session's goroutine never waits.
func (s *sink) Record(ctx context.Context, payloads []event.Payload) error {
	payloads = append([]event.Payload(nil), payloads...)
	for i, p := range payloads {
		// An agent says nothing in the hub's name, whatever its driver makes of it.
		if n, ok := p.(event.Note); ok && slices.Contains(state.Statements(), n.Statement()) {
			payloads[i] = n.Heard(event.FromAgent)
		}
	}
	return s.write(ctx, payloads)
}

// state records a statement of the hub in the order of the agent's output.
func (s *sink) state(ctx context.Context, n event.Note) error {
	return s.write(ctx, []event.Payload{n})
}

func (s *sink) write(ctx context.Context, payloads []event.Payload) error {
	drafts := make([]event.Draft, len(payloads))
	now, encoder := time.Now(), event.NewEncoder(payloads)
	for i, p := range payloads {
		draft, err := encoder.Draft(p, 0, now)
		if err != nil {
			payloads[i] = unreadable(p, err)
			if draft, err = encoder.Draft(payloads[i], 0, now); err != nil {
				return err
			}
		}
		drafts[i] = draft
	}
	retry := firstRetry
	for len(payloads) > 0 {
		done, err := s.record(ctx, s, payloads, drafts)
		payloads, drafts = payloads[done:], drafts[done:]
		if err == nil {
			continue
		}
		if !errors.Is(err, journal.ErrBlocked) {
			return err
		}
		if err := s.pause(ctx, retry); err != nil {
			return err
		}
		retry = min(2*retry, lastRetry)
	}
	return nil
}

func (s *sink) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.closed:
		return errDetached
	case <-s.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unreadable replaces output that no log line can hold.
func unreadable(p event.Payload, err error) event.Payload {
	return event.Error{
		Code:    "unreadable",
		Message: fmt.Sprintf("the agent sent a %s that cannot be recorded", p.EventType()),
		Detail:  err.Error(),
	}
}
