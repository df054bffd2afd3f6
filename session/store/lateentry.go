package store

import (
	"context"
)

// lateEntry enters a run into hub.json that found no room to do so when it
// began. Until then the run before stands there, as one that was not closed.
type lateEntry struct {
	cancel context.CancelFunc // nil where the run was entered at once
	done   chan struct{}      // closed when it no longer tries
}

// enterLater goes on without hub.json, because of err: history can be read on a
// full device, and logs look after themselves.
func (s *Store) enterLater(err error) {
	s.opts.Logger.Warn("this run could not be entered; sessions can be read, and it is tried again", "file", hubName, "err", err)
	ctx, cancel := context.WithCancel(context.Background())
	s.late.cancel, s.late.done = cancel, make(chan struct{})
	entry := s.hub
	go func() {
		defer close(s.late.done)
		for wait := retryFirst; pause(ctx, wait); wait = min(2*wait, retryLast) {
			if entry.write(s.opts.FS, s.dir) == nil {
				s.opts.Logger.Info("this run is entered", "file", hubName)
				return
			}
		}
	}()
}

// stop ends the trying and waits for it.
func (e *lateEntry) stop() {
	if e.cancel != nil {
		e.cancel()
		<-e.done
	}
}
