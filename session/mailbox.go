package session

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/state"
)

// mailbox takes jobs to the goroutine that owns an O. It is safe for concurrent use.
type mailbox[O any] struct {
	jobs chan func(*O)
	done chan struct{} // closed when the owner accepts no more jobs
	// ended is the error of later callers. The owner may change it before done is closed.
	ended error

	// answers are those of jobs to their callers. The owner's goroutine adds them,
	// and sends them when its changes are published.
	answers []func()
}

var errEnded = fmt.Errorf("%w: the session is being closed", state.ErrUnavailable)

func newMailbox[O any]() *mailbox[O] {
	return &mailbox[O]{jobs: make(chan func(*O)), done: make(chan struct{}), ended: errEnded}
}

// post runs fn in the owner's goroutine. It returns when the owner begins it, or
// drops it if the owner has ended.
func (m *mailbox[O]) post(fn func(*O)) {
	select {
	case m.jobs <- fn:
	case <-m.done:
	}
}

// answer sends the answers that are due.
func (m *mailbox[O]) answer() {
	for _, send := range m.answers {
		send()
	}
	m.answers = m.answers[:0]
}

// ask runs fn in the owner's goroutine and returns its result. An owner that has
// ended is the error ended. If ctx ends first, fn may still run.
func ask[O, T any](ctx context.Context, m *mailbox[O], fn func(*O) (T, error)) (T, error) {
	return askLater(ctx, m, func(o *O, reply func(T, error)) { reply(fn(o)) })
}

// askLater is ask for a result that may come later: fn calls reply, or has it called
// later in the owner's goroutine, once.
func askLater[O, T any](ctx context.Context, m *mailbox[O], fn func(o *O, reply func(T, error))) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	answered := make(chan answer, 1)
	reply := func(value T, err error) {
		m.answers = append(m.answers, func() { answered <- answer{value, err} })
	}
	select {
	case m.jobs <- func(o *O) { fn(o, reply) }:
	case <-m.done:
		return none, m.ended
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case a := <-answered: // an accepted job is always answered
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// tell is ask for a function without a result.
func tell[O any](ctx context.Context, m *mailbox[O], fn func(*O) error) error {
	_, err := ask(ctx, m, func(o *O) (struct{}, error) { return struct{}{}, fn(o) })
	return err
}
