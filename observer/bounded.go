package observer

import (
	"context"

	"github.com/abidehub/abide/session/event"
)

// UpTo is a source that omits the events after last.
func UpTo(source Source, last event.Seq) Source { return upTo{source, last} }

type upTo struct {
	Source
	last event.Seq
}

// ReadAfter implements Source.
func (u upTo) ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error) {
	if after >= u.last {
		return event.Batch{}, nil
	}
	b, err := u.Source.ReadAfter(ctx, after, maxBytes)
	return b.UpTo(u.last), err
}

// Each is a sink that calls f with every event.
func Each(f func(event.Header) error) Sink { return each(f) }

type each func(event.Header) error

// Deliver implements Sink.
func (f each) Deliver(_ context.Context, b event.Batch) error {
	for g := range b.Headers() {
		if err := f(g); err != nil {
			return err
		}
	}
	return nil
}
