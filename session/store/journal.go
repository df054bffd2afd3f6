package store

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// Journal returns the store as sessions use it. Only one hub can have a data directory,
// so each lease is granted at once, and every session is owned.
func (s *Store) Journal() journal.Store { return sessions{s} }

// sessions implements journal.Store. The methods that it does not have are the store's.
type sessions struct{ *Store }

// Create implements journal.Store.
func (s sessions) Create(ctx context.Context, start event.SessionStart) (id string, err error) {
	l, err := s.Store.Create(ctx, start)
	if err != nil {
		return "", err
	}
	return l.ID(), nil
}

// Lease implements journal.Store.
func (s sessions) Lease(ctx context.Context, id string) (journal.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !journal.ValidID(id) {
		return nil, fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, journal.ErrClosed
	}
	e := s.sessions[id]
	if e == nil || e.hidden {
		return nil, fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
	}
	e.fence++
	if e.log != nil {
		e.log.leased.Store(e.fence)
	}
	return &lease{s.Store, id, e.fence}, nil
}

// Owned implements journal.Store.
func (s sessions) Owned() iter.Seq[journal.Metadata] { return s.Newest(journal.Place{}) }

// Beside implements journal.Store.
func (s sessions) Beside(id string) (journal.Files, error) {
	dir, err := s.SessionDir(id)
	if err != nil {
		return nil, err
	}
	return files{disk.Folder{FS: s.opts.FS, Dir: dir}, func() error { return journal.ErrFenced }}, nil
}

// Sizes implements journal.Store.
func (s sessions) Sizes(id string) (journal.Sizes, error) {
	dir, err := s.SessionDir(id)
	if err != nil {
		return journal.Sizes{}, err
	}
	return sizesIn(s.opts.FS, dir)
}

// Unpacked implements journal.Store.
func (s sessions) Unpacked(id string) (int64, error) {
	dir, err := s.SessionDir(id)
	if err != nil {
		return 0, err
	}
	return unpackedIn(s.opts.FS, dir)
}

// Lines implements journal.Store.
func (s sessions) Lines(id string) ([]journal.Part, error) {
	dir, err := s.SessionDir(id)
	if err != nil {
		return nil, err
	}
	return Lines(s.opts.FS, dir)
}

// Present implements journal.Store.
func (s sessions) Present(id string) error {
	dir, err := s.SessionDir(id)
	if err != nil {
		return err
	}
	return away(s.opts.FS, dir)
}

// DerivedOf implements journal.Store.
func (s sessions) DerivedOf(id string) (journal.Derived, error) {
	dir, err := s.SessionDir(id)
	if err != nil {
		return nil, err
	}
	return Derived{s.opts.FS, filepath.Join(dir, derivedDir)}, nil
}

// Derived implements journal.Store.
func (s sessions) Derived() journal.Derived { return s.Store.Derived() }

// Files implements journal.Store.
func (s sessions) Files() journal.Files {
	return files{disk.Folder{FS: s.opts.FS, Dir: s.dir}, func() error { return nil }}
}

// lease implements journal.Lease.
type lease struct {
	store *Store
	id    string
	fence int64
}

// Log implements journal.Lease.
func (l *lease) Log(ctx context.Context) (journal.Log, error) {
	log, err := l.store.Log(ctx, l.id)
	if err != nil {
		return nil, err
	}
	return &held{log, l.fence}, nil
}

// Release implements journal.Lease. No other hub can want the session.
func (l *lease) Release() {}

// held is a log as the holder of a lease has it. The methods that it does not have are
// the log's.
type held struct {
	*Log
	fence int64
}

// lost returns ErrFenced if there is a newer lease.
func (h *held) lost() error {
	if h.leased.Load() != h.fence {
		return journal.ErrFenced
	}
	return nil
}

// Append implements journal.Log.
func (h *held) Append(ctx context.Context, next event.Seq, drafts ...event.Draft) (first, last event.Seq, err error) {
	return h.writer.submit(ctx, condition{next, h.fence}, drafts)
}

// Health implements journal.Log.
func (h *held) Health() journal.Health {
	health := h.Log.Health()
	if err := h.lost(); err != nil {
		health.State, health.Reason = journal.HealthLost, err.Error()
	}
	return health
}

// Pack implements journal.Log.
func (h *held) Pack(ctx context.Context) error {
	if err := h.lost(); err != nil {
		return err
	}
	return h.Log.Pack(ctx)
}

// Reopen implements journal.Log.
func (h *held) Reopen(ctx context.Context) error {
	if err := h.lost(); err != nil {
		return err
	}
	return h.Log.Reopen(ctx)
}

// UpdateMetadata implements journal.Meta.
func (h *held) UpdateMetadata(f func(*journal.Metadata)) {
	if h.lost() == nil {
		h.Log.UpdateMetadata(f)
	}
}

// Label implements journal.Meta.
func (h *held) Label(f func(*journal.Metadata)) error {
	if err := h.lost(); err != nil {
		return err
	}
	return h.Log.Label(f)
}

// FlushMetadata implements journal.Meta.
func (h *held) FlushMetadata(ctx context.Context) error {
	if err := h.lost(); err != nil {
		return err
	}
	return h.Log.FlushMetadata(ctx)
}

// Files implements journal.Log.
func (h *held) Files() journal.Files { return files{disk.Folder{FS: h.fs, Dir: h.dir}, h.lost} }

// Derived implements journal.Log.
func (h *held) Derived() journal.Derived {
	return Derived{h.fs, filepath.Join(h.dir, derivedDir)}
}
