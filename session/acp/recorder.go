package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// ErrGone says that the agent has exited or is exiting.
var ErrGone = errors.New("agent is gone")

// recorder calls the Sink, for one goroutine at a time. The reader calls it with
// the agent's lines; others do with events of files, terminals and silence.
type recorder struct {
	// set at construction
	ctx  context.Context
	sink Sink
	// turn is held during a call. Capacity 1. It is no mutex: a call may block
	// for as long as the disk is full.
	turn chan struct{}

	ended  bool  // owned by the holder of turn: nothing more is taken
	failed error // owned by the holder of turn: the sink's first error
}

func newRecorder(ctx context.Context, sink Sink) *recorder {
	return &recorder{ctx: ctx, sink: sink, turn: make(chan struct{}, 1)}
}

// put records payloads, in order, and returns once they are kept. ErrGone says
// that the last recording was made.
func (r *recorder) put(payloads ...event.Payload) error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	switch {
	case r.ended:
		return ErrGone
	case r.failed != nil || len(payloads) == 0:
		return r.failed
	}
	return r.call(payloads)
}

// finish makes the last recording. It is offered even to a sink that failed: the
// failure may have been that of one payload, and every agent's stream ends in an
// exit.
func (r *recorder) finish(payloads ...event.Payload) error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.ended = true
	return r.call(payloads)
}

// call calls the sink. The caller holds turn.
func (r *recorder) call(payloads []event.Payload) error {
	if err := r.sink.Record(r.ctx, payloads); err != nil {
		err = fmt.Errorf("record %d payloads: %w", len(payloads), err)
		r.failed = cmp.Or(r.failed, err)
		return err
	}
	return nil
}
