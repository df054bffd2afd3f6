package record

import (
	"context"
	"errors"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/recorded"
	"github.com/abidehub/abide/session/state"
)

// toManager records into a hub from inside.
type toManager struct {
	sessions *session.Manager
	left     Left
}

// InHub returns the destination in the hub itself of what a killed recorder left.
func InHub(sessions *session.Manager) func(Left) Destination {
	return func(l Left) Destination { return &toManager{sessions, l} }
}

func (d *toManager) Put(ctx context.Context, events [][]byte) (event.Seq, error) {
	batch, err := recordedOf[recorded.Event](events)
	if err != nil {
		return 0, err
	}
	b, err := d.session(ctx)
	if err != nil {
		return 0, err
	}
	last, err := b.Record(ctx, d.left.RecorderID, d.left.After, batch)
	if errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrInvalid) {
		return 0, &FinalError{err}
	}
	if err == nil {
		d.left.After = last
	}
	return last, err
}

func (d *toManager) End(ctx context.Context, reason string) error {
	b, err := d.session(ctx)
	if err != nil {
		return err
	}
	return b.EndRecording(ctx, d.left.RecorderID, reason, state.TheHub())
}

func (d *toManager) session(ctx context.Context) (*session.BackgroundSession, error) {
	b, err := d.sessions.Session(ctx, d.left.SessionID)
	if errors.Is(err, state.ErrNotFound) {
		return nil, ErrElsewhere
	}
	return b, err
}
