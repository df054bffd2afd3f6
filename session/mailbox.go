package session

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/state"
)

// mailbox takes jobs to the goroutine that owns an O. It is safe for concurrent use.
type mailbox[O any] struct {
	jobs chan job[O]
	done chan struct{} // closed when the owner accepts no more jobs
}

// job runs in the owner's goroutine. It may return a function that answers its
// caller: the owner calls it when its changes are published.
type job[O any] func(*O) (answer func())

var errEnded = fmt.Errorf("%w: the session is being closed", state.ErrUnavailable)

func newMailbox[O any]() *mailbox[O] {
	return &mailbox[O]{jobs: make(chan job[O]), done: make(chan struct{})}
}

// post runs fn in the owner's goroutine. It returns when the owner begins it, or
// drops it if the owner has ended.
func (m *mailbox[O]) post(fn func(*O)) {
	select {
	case m.jobs <- func(o *O) func() { fn(o); return nil }:
	case <-m.done:
	}
}

// ask runs fn in the owner's goroutine and returns its result. An owner that has
// ended is errEnded. If ctx ends first, fn may still run.
func ask[O, T any](ctx context.Context, m *mailbox[O], fn func(*O) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	reply := make(chan answer, 1)
	asked := func(o *O) func() {
		value, err := fn(o)
		return func() { reply <- answer{value, err} }
	}
	select {
	case m.jobs <- asked:
	case <-m.done:
		return none, errEnded
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case a := <-reply: // an accepted job always runs to its end
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
