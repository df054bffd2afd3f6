package record

import (
	"context"
	"errors"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/recorded"
	"github.com/abidehub/abide/session/store"
)

// Offline is a data directory where no hub runs, whose LOCK it holds.
type Offline struct {
	recorder *store.Recorder
	begun    bool
}

// OpenOffline opens a data directory. Call Close when the recording has ended.
func OpenOffline(dir string) (*Offline, error) {
	r, err := store.OpenRecorder(dir, store.Options{})
	if err != nil {
		return nil, err
	}
	return &Offline{recorder: r}, nil
}

// Close gives the directory back, unless a recording began: that does it at its end.
func (o *Offline) Close() error {
	if o.begun {
		return nil
	}
	return o.recorder.Close()
}

// Begin begins the one recording.
func (o *Offline) Begin(ctx context.Context, agent, workspace, name string) (Destination, Left, error) {
	log, err := o.recorder.Create(ctx, event.SessionStart{Agent: agent, Workspace: workspace, CreatedBy: actor})
	if err == nil && name != "" {
		err = log.Label(func(m *journal.Metadata) { m.Name, m.Named = name, true })
	}
	var recording *recorded.Offline
	if err == nil {
		recording, err = recorded.StartOffline(ctx, log, event.Actor{Name: actor})
	}
	if err != nil {
		return nil, Left{}, &FinalError{err}
	}
	o.begun = true
	return &toStore{o.recorder, recording}, Left{log.ID(), recording.RecorderID(), recording.MaxSeq()}, nil
}

// toStore records into a data directory.
type toStore struct {
	recorder  *store.Recorder
	recording *recorded.Offline
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
