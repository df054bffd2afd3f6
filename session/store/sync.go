package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// syncer brings one log to the device. A goroutine that needs a sync and finds none
// running syncs for all that wait; those that come while one runs share the next.
// No lock is held meanwhile.
type syncer struct {
	*core
	active *activeFile     // set at construction
	failed func(err error) // set at construction; stops the log until it is reopened

	mu      sync.Mutex
	running chan struct{} // closed when the running sync ends; nil if none runs
}

// syncTo returns once everything up to seq is on the device. If ctx ends first
// the outcome is open, and the event stays in the log.
func (s *syncer) syncTo(ctx context.Context, seq event.Seq) error {
	for {
		if _, synced := s.marks.positions(); synced.seq >= seq {
			return nil
		}
		s.mu.Lock()
		// Asked under the lock, behind which the sync before has ended: after a
		// failed one there is no other.
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

// syncOnce syncs everything written by now. Failure freezes the log: the kernel may
// have dropped the bytes and would report success the next time.
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
	// A sealed segment was synced before it was sealed, so syncing the file of
	// the last written line is enough for all before it.
	if s.marks.reached(written) {
		s.bell.Ring()
	}
}

// bring brings the active file to the device, if it is still the log's.
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

// ended returns once no sync runs. Of a frozen log none begins.
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
