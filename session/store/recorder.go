package store

import (
	"context"

	"github.com/abidehub/abide/session/event"
)

// Recorder makes sessions in a data directory where no hub runs. It holds the
// directory's LOCK, as a hub does. It is safe for concurrent use.
type Recorder struct{ store *Store }

// OpenRecorder opens the data directory dir for recording, and makes it where it
// is missing. If a hub has it, the error is a *LockedError.
func OpenRecorder(dir string, o Options) (*Recorder, error) {
	s, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &Recorder{store: s}, nil
}

// Create makes a session, as Store.Create does.
func (r *Recorder) Create(ctx context.Context, start event.SessionStart) (*Log, error) {
	return r.store.Create(ctx, start)
}

// Close brings every session to the device and gives the directory back.
func (r *Recorder) Close() error { return r.store.Close() }
