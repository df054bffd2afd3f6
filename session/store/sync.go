package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// syncer syncs one log. A goroutine that needs a sync while none is running syncs
// for all that wait; those that come meanwhile share the next. No lock is held
// during a sync.
type syncer struct {
	*core
	active *activeFile     // set at construction
	failed func(err error) // set at construction; stops the log until it is reopened

	mu      sync.Mutex
	running chan struct{} // closed when the running sync ends; nil if none runs
}

// syncTo returns once everything up to seq is synced. If ctx ends first, the result
// is open and the event stays in the log.
func (s *syncer) syncTo(ctx context.Context, seq event.Seq) error {
	for {
		if _, synced := s.marks.positions(); synced.seq >= seq {
			return nil
		}
		s.mu.Lock()
		// Check under the lock, after the previous sync has ended: after a failed
		// one there must be no other.
		if err := s.health.refusal(); err != nil {
			s.mu.Unlock()
			return err
		}
		running := s.running
		if running == nil {
			done := make(chan struct{})
			s.running = done
			s.mu.Unlock()
			s.syncOnce()
			s.mu.Lock()
			s.running = nil
			s.mu.Unlock()
			close(done)
			continue
		}
		s.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return fmt.Errorf("wait for sync of seq %d: %w", seq, ctx.Err())
		}
	}
}

// syncOnce syncs everything written so far. A failure freezes the log: the kernel
// may have dropped the bytes, and the next sync would falsely succeed.
func (s *syncer) syncOnce() {
	written, synced := s.marks.positions()
	if synced.seq >= written.seq {
		return // another did; the file may just be sealed
	}
	seg, _, err := s.segs.at(written.first)
	if err == nil {
		err = s.bring(seg, written, synced)
	}
	if err != nil {
		s.failed(fmt.Errorf("sync log: %w", err))
		return
	}
	// A segment is synced before it is sealed, so syncing the file of the last
	// written line is enough.
	if s.marks.reached(written) {
		s.bell.Ring()
	}
}

// bring syncs the active file if it still has its name.
func (s *syncer) bring(seg *segment, written, synced position) error {
	file, err := seg.acquire()
	if err != nil {
		return err
	}
	defer seg.release()
	if err := file.Datasync(); err != nil {
		return err
	}
	return s.active.named(file)
}

// ended returns once no sync runs. No sync starts on a frozen log.
func (s *syncer) ended(ctx context.Context) error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
