package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// ErrGone says that the agent has exited or is exiting.
var ErrGone = errors.New("agent is gone")

// recorder is the one goroutine that calls the Sink. What the agent wrote and
// what the hub has to say about it (files, terminals, silence) meet here.
type recorder struct {
	sink Sink
	work chan recording
	// ended is closed once nothing more is taken.
	ended chan struct{}

	mu     sync.Mutex
	failed error // guarded by mu: why the sink takes nothing more
}

type recording struct {
	payloads []event.Payload
	last     bool
	done     chan error
}

func newRecorder(sink Sink) *recorder {
	return &recorder{sink: sink, work: make(chan recording), ended: make(chan struct{})}
}

// run calls the sink until the last recording was made. ctx is passed on.
func (r *recorder) run(ctx context.Context) {
	defer close(r.ended)
	for w := range r.work {
		err := r.failure()
		// The exit is offered even to a sink that failed: it may have been the
		// failure of one payload, and every agent's stream ends in an exit.
		if err == nil || w.last {
			if err = r.sink.Record(ctx, w.payloads); err != nil {
				err = fmt.Errorf("record %d payloads: %w", len(w.payloads), err)
				r.fail(err)
			}
		}
		w.done <- err
		if w.last {
			return
		}
	}
}

// put records payloads, in order, and returns once they are kept. ErrGone says
// that the last recording was made.
func (r *recorder) put(payloads ...event.Payload) error {
	if len(payloads) == 0 {
		return r.failure()
	}
	return r.hand(recording{payloads: payloads, done: make(chan error, 1)})
}

// finish makes the last recording.
func (r *recorder) finish(payloads ...event.Payload) error {
	return r.hand(recording{payloads: payloads, last: true, done: make(chan error, 1)})
}

func (r *recorder) hand(w recording) error {
	select {
	case r.work <- w:
		return <-w.done
	case <-r.ended:
		return ErrGone
	}
}

func (r *recorder) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}
