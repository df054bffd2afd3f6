package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// ErrGone means that the agent has exited or is exiting.
var ErrGone = errors.New("agent is gone")

// recorder calls the Sink, one goroutine at a time. The reader calls it with the
// agent's lines; others call it with events of files, terminals and silence.
type recorder struct {
	// set at construction
	ctx  context.Context
	sink Sink
	// turn is held during a call. Capacity 1. It is not a mutex, because a call may
	// block as long as the disk is full.
	turn chan struct{}

	ended  bool  // owned by the holder of turn: no more is accepted
	failed error // owned by the holder of turn: the sink's first error
}

func newRecorder(ctx context.Context, sink Sink) *recorder {
	return &recorder{ctx: ctx, sink: sink, turn: make(chan struct{}, 1)}
}

// put records payloads, in order, and returns once they are recorded. ErrGone means
// that the exit was already recorded.
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

// finish makes the last recording. It calls even a sink that failed: the failure
// may have concerned one payload, and every agent's stream ends in an exit.
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
