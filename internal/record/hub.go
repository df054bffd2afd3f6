package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/abidehub/abide/internal/client"
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
func Through(ctx context.Context, hub *client.Hub, n wire.NewSession, key string) (Destination, error) {
	made, err := hub.BeginRecording(ctx, n, key)
	if err != nil {
		return nil, fmt.Errorf("begin recording: %w", err)
	}
	return &toHub{hub, made, made.MaxSeq}, nil
}

func (d *toHub) Put(ctx context.Context, events [][]byte) error {
	batch := make([]wire.Recorded, 0, len(events))
	for _, line := range events {
		var r wire.Recorded
		if err := json.Unmarshal(line, &r); err != nil {
			return &FinalError{fmt.Errorf("read an event that waited: %w", err)}
		}
		batch = append(batch, r)
	}
	last, err := d.hub.Record(ctx, d.recording, d.after, batch)
	var refused *client.RefusedError
	switch {
	case err == nil:
		d.after = last
		return nil
	case errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests && refused.Status != http.StatusUnauthorized:
		return &FinalError{err}
	}
	return err
}

func (d *toHub) End(ctx context.Context, reason string) error {
	return d.hub.EndRecording(ctx, d.recording, reason)
}
