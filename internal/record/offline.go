package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/recorded"
	"github.com/abidehub/abide/session/store"
)

// toStore records into a data directory whose LOCK it holds.
type toStore struct {
	recorder  *store.Recorder
	recording *recorded.Offline
}

// Offline begins a recording in a data directory where no hub runs.
func Offline(ctx context.Context, dir, agent, workspace, name string) (Destination, error) {
	r, err := store.OpenRecorder(dir, store.Options{})
	if err != nil {
		return nil, err
	}
	log, err := r.Create(ctx, event.SessionStart{Agent: agent, Workspace: workspace, CreatedBy: actor})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if name != "" {
		err = log.Label(func(m *journal.Metadata) { m.Name, m.Named = name, true })
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &toStore{r, recorded.StartOffline(log)}, nil
}

func (d *toStore) Put(ctx context.Context, events [][]byte) error {
	batch := make([]recorded.Event, 0, len(events))
	for _, line := range events {
		var r recorded.Event
		if err := json.Unmarshal(line, &r); err != nil {
			return &FinalError{fmt.Errorf("read an event that waited: %w", err)}
		}
		batch = append(batch, r)
	}
	if err := d.recording.Record(ctx, batch); err != nil {
		return &FinalError{err}
	}
	return nil
}

func (d *toStore) End(ctx context.Context, reason string) error {
	return errors.Join(d.recording.End(ctx, reason, event.Actor{Name: actor}), d.recorder.Close())
}
