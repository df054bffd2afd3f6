package record

import (
	"context"
	"errors"

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
func Offline(ctx context.Context, dir, agent, workspace, name string) (Destination, Left, error) {
	r, err := store.OpenRecorder(dir, store.Options{})
	if err != nil {
		return nil, Left{}, err
	}
	log, err := r.Create(ctx, event.SessionStart{Agent: agent, Workspace: workspace, CreatedBy: actor})
	if err != nil {
		return nil, Left{}, errors.Join(err, r.Close())
	}
	if name != "" {
		err = log.Label(func(m *journal.Metadata) { m.Name, m.Named = name, true })
	}
	var recording *recorded.Offline
	if err == nil {
		recording, err = recorded.StartOffline(ctx, log, event.Actor{Name: actor})
	}
	if err != nil {
		return nil, Left{}, errors.Join(err, r.Close())
	}
	return &toStore{r, recording}, Left{log.ID(), recording.RecorderID(), recording.MaxSeq()}, nil
}

func (d *toStore) Put(ctx context.Context, events [][]byte) (event.Seq, error) {
	batch, err := recordedOf[recorded.Event](events)
	if err != nil {
		return 0, err
	}
	if err := d.recording.Record(ctx, batch); err != nil {
		return 0, &FinalError{err}
	}
	return d.recording.MaxSeq(), nil
}

func (d *toStore) End(ctx context.Context, reason string) error {
	return errors.Join(d.recording.End(ctx, reason, event.Actor{Name: actor}), d.recorder.Close())
}
