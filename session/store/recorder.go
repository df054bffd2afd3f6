package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// Recorder makes sessions in a data directory without being its hub, so that a
// program can record what it does beside a running one. The hub notices the
// session, follows it read-only, and takes it over once the recorder is closed
// or its process ends. It is safe for concurrent use.
type Recorder struct {
	root  string // set at construction
	opts  Options
	runID string

	mu     sync.Mutex
	logs   []*Log
	closed bool
}

// OpenRecorder opens the data directory dir for recording, and makes it where it
// is missing. It takes no lock of the directory; each session has its own.
func OpenRecorder(dir string, o Options) (*Recorder, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeDirs(o.FS, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	return &Recorder{root: filepath.Join(dir, sessionsDir), opts: o, runID: nextRun("", o.Now())}, nil
}

// Create makes a session, as Store.Create does.
func (r *Recorder) Create(ctx context.Context, start event.SessionStart) (*Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	start.Format, start.Epoch = logFormat, newEpoch()
	start.SessionID = newID(r.opts.Now())
	l, err := createLog(filepath.Join(r.root, start.SessionID), r.runID, r.opts, start)
	if err != nil {
		return nil, createError(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.Join(ErrClosed, l.close())
	}
	r.logs = append(r.logs, l)
	return l, nil
}

// Close brings every session to the device and gives it up.
func (r *Recorder) Close() error {
	r.mu.Lock()
	logs := r.logs
	r.logs, r.closed = nil, true
	r.mu.Unlock()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

// createError says that a session could not be made.
func createError(err error) error {
	if isFull(err) {
		return fmt.Errorf("create session: %w: %w", ErrBlocked, err)
	}
	return fmt.Errorf("create session: %w", err)
}
