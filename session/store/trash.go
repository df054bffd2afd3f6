package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// A session in the trash is its directory, in a folder named by the time at which it was
// put away: trash/20261128T102300.125Z/20260221-140307-9f3a11c0. One rename puts it there
// and one brings it back, so a crash leaves it whole, in one place.
const trashTime = "20060102T150405.000Z"

// trashOf is the folder of what was put away at a time.
func (s *Store) trashOf(at time.Time) string {
	return filepath.Join(s.trash(), at.UTC().Format(trashTime))
}

// Trash implements journal.Store.
func (s *Store) Trash(ctx context.Context, id string) error {
	folder := s.trashOf(s.opts.Now())
	err := makeDir(s.opts.FS, s.trash())
	if err == nil {
		err = makeDir(s.opts.FS, folder)
	}
	if err == nil {
		err = s.putAway(ctx, id, filepath.Join(folder, id))
	}
	if err != nil {
		_ = s.opts.FS.Remove(folder) // it may be empty
		return fmt.Errorf("put session %s into the trash: %w", id, err)
	}
	return nil
}

// Trashed implements journal.Store.
func (s *Store) Trashed() ([]journal.Trashed, error) {
	names, err := s.opts.FS.ReadDir(s.trash())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the trash: %w", err)
	}
	var all []journal.Trashed
	for _, n := range names {
		at, err := time.Parse(trashTime, n.Name())
		if err != nil || !n.IsDir() {
			continue // it is another's
		}
		inside, _ := s.opts.FS.ReadDir(s.trashOf(at))
		for _, d := range inside {
			if dir := filepath.Join(s.trashOf(at), d.Name()); d.IsDir() && journal.ValidID(d.Name()) {
				all = append(all, journal.Trashed{Metadata: s.readIn(dir), At: at, Bytes: sizeOf(s.opts.FS, s.trashOf(at), d)})
			}
		}
	}
	slices.SortFunc(all, func(a, b journal.Trashed) int {
		if by := b.At.Compare(a.At); by != 0 {
			return by
		}
		return strings.Compare(a.SessionID, b.SessionID)
	})
	return all, nil
}

// Restore implements journal.Store.
func (s *Store) Restore(_ context.Context, id string) error {
	if !journal.ValidID(id) {
		return fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	all, err := s.Trashed()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(t journal.Trashed) bool { return t.SessionID == id })
	if at < 0 {
		return fmt.Errorf("session %s in the trash: %w", id, journal.ErrNotFound)
	}
	s.mu.Lock()
	if s.closed || s.sessions[id] != nil {
		err := fmt.Errorf("session %s: %w", id, journal.ErrExists)
		if s.closed {
			err = journal.ErrClosed
		}
		s.mu.Unlock()
		return err
	}
	e := &entryOf{opening: make(chan struct{}), hidden: true}
	s.sessions[id] = e
	s.mu.Unlock()
	err = s.bringBack(id, all[at].At)
	meta := journal.Metadata{}
	if err == nil {
		meta = s.readListed(id)
	}
	s.mu.Lock()
	opening := e.opening
	e.opening, e.hidden, e.meta = nil, false, meta
	if err != nil {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	close(opening)
	if err != nil {
		return fmt.Errorf("restore session %s: %w", id, err)
	}
	return nil
}

func (s *Store) bringBack(id string, at time.Time) error {
	if err := s.opts.FS.Rename(filepath.Join(s.trashOf(at), id), filepath.Join(s.root(), id)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return journal.ErrNotFound
		}
		return err
	}
	err := errors.Join(s.opts.FS.SyncDir(s.root()), s.opts.FS.SyncDir(s.trashOf(at)))
	_ = s.opts.FS.Remove(s.trashOf(at)) // it is empty, unless two went at once
	return err
}

// Purge implements journal.Store.
func (s *Store) Purge(_ context.Context, one journal.Trashed) error {
	from := filepath.Join(s.trashOf(one.At), one.SessionID)
	gone := filepath.Join(s.trash(), deletedPrefix+one.SessionID)
	// The rename comes first: after a crash nothing half removed can be restored. An
	// interrupted removal may have left a directory of this name.
	if err := s.opts.FS.RemoveAll(gone); err != nil {
		return fmt.Errorf("delete session %s from the trash: %w", one.SessionID, err)
	}
	err := s.opts.FS.Rename(from, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(s.opts.FS.SyncDir(s.trash()), s.opts.FS.SyncDir(s.trashOf(one.At)))
	}
	if err == nil {
		_ = s.opts.FS.Remove(s.trashOf(one.At)) // it is empty, unless two went at once
		err = s.opts.FS.RemoveAll(gone)
	}
	if err != nil {
		return fmt.Errorf("delete session %s from the trash: %w", one.SessionID, err)
	}
	return nil
}
