package store

import (
	"context"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
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
func (r *Recorder) Create(ctx context.Context, start event.SessionStart) (journal.Log, error) {
	l, err := r.store.Create(ctx, start)
	if err != nil {
		return nil, err
	}
	lease, err := r.store.Journal().Lease(ctx, l.ID())
	if err != nil {
		return nil, err
	}
	return lease.Log(ctx)
}

// Close brings every session to the device and gives the directory back.
func (r *Recorder) Close() error { return r.store.Close() }
