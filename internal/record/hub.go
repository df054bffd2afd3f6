package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// toHub records through a hub.
type toHub struct {
	hub       *client.Hub
	recording wire.Recording
	after     event.Seq
}

// Through begins a recording at a hub. The same key again makes no second one.
func Through(ctx context.Context, hub *client.Hub, n wire.NewSession, key string) (Destination, Left, error) {
	made, err := hub.BeginRecording(ctx, n, key)
	if err != nil {
		return nil, Left{}, maybeFinal(fmt.Errorf("begin recording: %w", err))
	}
	return &toHub{hub, made, made.MaxSeq}, Left{made.SessionID, made.RecorderID, made.MaxSeq}, nil
}

// ToHub returns the destination at a hub of what a killed recorder left.
func ToHub(hub *client.Hub) func(Left) Destination {
	return func(l Left) Destination {
		return &toHub{hub, wire.Recording{SessionID: l.SessionID, RecorderID: l.RecorderID}, l.After}
	}
}

func (d *toHub) Put(ctx context.Context, events [][]byte) (event.Seq, error) {
	batch, err := recordedOf[wire.Recorded](events)
	if err != nil {
		return 0, err
	}
	last, err := d.hub.Record(ctx, d.recording, d.after, batch)
	var refused *client.RefusedError
	switch {
	case err == nil:
		d.after = last
		return last, nil
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		return 0, &FinalError{fmt.Errorf("%w: %w", ErrElsewhere, err)}
	}
	return 0, maybeFinal(err)
}

// maybeFinal makes a FinalError of a refusal that another attempt would meet, too.
func maybeFinal(err error) error {
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusUnauthorized {
		return &FinalError{err}
	}
	return err
}

func (d *toHub) End(ctx context.Context, reason string) error {
	return d.hub.EndRecording(ctx, d.recording, reason)
}
