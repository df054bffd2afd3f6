package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/journal"
)

const (
	// saveAfter is how long after a change a snapshot is saved, so that many changes are
	// saved once.
	saveAfter = 500 * time.Millisecond
	// saveEvery is how often it is saved during a turn.
	saveEvery = 30 * time.Second
	// saveShare bounds the share of time that goes into saving one session: 1 of so many.
	saveShare = 20
	// saveTries is how often a save that fails is tried. The first wait is tryAgainAfter, and
	// each is twice the one before.
	saveTries     = 3
	tryAgainAfter = time.Second
)

// Saver saves the snapshots of sessions in which something happened. Its methods are safe
// for concurrent use.
type Saver struct {
	book *Book
	now  func() time.Time
	wake bell.Bell

	mu    sync.Mutex
	slots map[string]*slot // of sessions with something to do or to remember
}

// slot is what is planned for a session.
type slot struct {
	// due is when it is saved next; zero if that is not planned.
	due time.Time
	// rest is the earliest time for that.
	rest time.Time
	// failed counts the saves that failed since the last one that did not, and err is the
	// error of the latest.
	failed int
	err    error
}

// NewSaver returns a saver that saves into a book.
func NewSaver(b *Book) *Saver {
	return &Saver{book: b, now: time.Now, slots: map[string]*slot{}}
}

// Changed says that a session's snapshot is to be saved. It does not block.
func (s *Saver) Changed(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan(id, s.now().Add(saveAfter))
}

// plan lets a session be saved at a time, or before if that was planned. The caller holds mu.
func (s *Saver) plan(id string, at time.Time) {
	one := s.slots[id]
	if one == nil {
		one = &slot{}
		s.slots[id] = one
	}
	if at.Before(one.rest) {
		at = one.rest
	}
	if one.due.IsZero() || at.Before(one.due) {
		one.due = at
		s.wake.Ring()
	}
}

// Waiting counts the sessions whose snapshots are to be saved.
func (s *Saver) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.slots {
		if !one.due.IsZero() {
			n++
		}
	}
	return n
}

// Problem says for a person that a snapshot cannot be saved; empty if all can.
func (s *Saver) Problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, one := range s.slots {
		if _, exists := s.book.store.Listed(id); exists && one.failed >= saveTries {
			return fmt.Sprintf("The snapshot of session %s cannot be saved: %v. Nothing of the session is lost: its log has everything. Free disk space, or check the permissions of the session's folder derived.", id, one.err)
		}
	}
	return ""
}

// Run saves until ctx ends. One goroutine calls it.
func (s *Saver) Run(ctx context.Context) {
	for {
		ring := s.wake.Listen()
		id, wait := s.next()
		if id != "" && wait <= 0 {
			s.save(ctx, id)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ring:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// next is the session that is due first, and how long until then; without one it is empty,
// and the wait long.
func (s *Saver) next() (id string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait = time.Hour
	for one, slot := range s.slots {
		if left := slot.due.Sub(s.now()); !slot.due.IsZero() && (id == "" || left < wait) {
			id, wait = one, left
		}
	}
	return id, wait
}

func (s *Saver) save(ctx context.Context, id string) {
	s.mu.Lock()
	s.slots[id].due = time.Time{} // a change from now on is saved again
	s.mu.Unlock()
	began := s.now()
	working, err := s.book.Save(ctx, id)
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, one := s.now(), s.slots[id]
	switch {
	case errors.Is(err, journal.ErrNotFound):
		delete(s.slots, id)
		return
	case err != nil:
		one.failed, one.err = one.failed+1, err
		if one.failed < saveTries {
			s.plan(id, now.Add(tryAgainAfter<<(one.failed-1)))
			return
		}
		s.book.logger.Warn("a snapshot cannot be saved", "session", id, "err", err)
		return
	}
	one.failed, one.err = 0, nil
	one.rest = now.Add(saveShare * now.Sub(began))
	if working {
		s.plan(id, now.Add(saveEvery))
	}
	switch {
	case !one.due.IsZero() && one.due.Before(one.rest):
		one.due = one.rest
	case one.due.IsZero() && one.rest.Sub(now) <= saveAfter:
		delete(s.slots, id)
	}
}
