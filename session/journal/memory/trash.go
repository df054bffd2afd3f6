package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// trashed is a session that was put away.
type trashed struct {
	*kept
	at time.Time
}

// Trash implements journal.Store.
func (s *Store) Trash(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	k, err := s.remove(id)
	if err == nil {
		s.device.trash = slices.Insert(s.device.trash, 0, trashed{k.copy(), time.Now().UTC().Truncate(time.Millisecond)})
	}
	return err
}

// Trashed implements journal.Store.
func (s *Store) Trashed() ([]journal.Trashed, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	var all []journal.Trashed
	for _, t := range s.device.trash {
		size := 0
		for _, line := range t.events {
			size += len(line)
		}
		all = append(all, journal.Trashed{Metadata: t.numbered(t.meta.Clone()), At: t.at, Bytes: int64(size)})
	}
	return all, nil
}

// Restore implements journal.Store.
func (s *Store) Restore(_ context.Context, id string) error {
	if !journal.ValidID(id) {
		return fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	at := slices.IndexFunc(s.device.trash, func(t trashed) bool { return t.id == id })
	switch {
	case at < 0:
		return fmt.Errorf("session %s in the trash: %w", id, journal.ErrNotFound)
	case s.device.sessions[id] != nil:
		return fmt.Errorf("session %s: %w", id, journal.ErrExists)
	}
	s.device.sessions[id] = s.device.trash[at].kept
	s.device.trash = slices.Delete(s.device.trash, at, at+1)
	return nil
}

// Purge implements journal.Store.
func (s *Store) Purge(_ context.Context, one journal.Trashed) error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	s.device.trash = slices.DeleteFunc(s.device.trash, func(t trashed) bool { return t.id == one.SessionID && t.at.Equal(one.At) })
	return nil
}
