package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// syncCopiesEvery is how often copies are synced. A power cut costs about that much of
// a copy, which is read again.
const syncCopiesEvery = time.Second

// Copies are the copies of one machine's logs, a directory each. They are safe for
// concurrent use.
type Copies struct {
	// Set at construction.
	dir  string
	opts Options
	wake bell.Slot // there is something to sync
	stop context.CancelFunc
	done sync.WaitGroup

	full bool // the last flush found no space, which was said; owned by run

	mu     sync.Mutex
	open   map[string]*copyOf
	closed bool
}

// copyOf is the place of one copy. Its lock is held while the copy is opened, cut or
// deleted.
type copyOf struct {
	mu   sync.Mutex
	copy *Copy // nil until it is opened
	id   string

	said string // why it could not be flushed the last time; owned by run
}

// CopyOptions adjust Copies. The zero value is usable.
type CopyOptions struct {
	// Logger takes messages for an operator; nil discards it.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// CacheBytes is about how much of each copy's end is kept in memory. Zero is 1 MiB.
	CacheBytes int
	// IdleAfter is how long a copy without news keeps its caches. Zero is a minute.
	IdleAfter time.Duration
	// FS is the file system; nil is the real one.
	FS FS
}

// OpenCopies opens the copies in a directory, and creates it if it is missing. It opens
// no copy. The caller holds the lock of the data directory, and closes the copies.
func OpenCopies(dir string, o CopyOptions) (*Copies, error) {
	opts := Options{Logger: o.Logger, Now: o.Now, TailBytes: o.CacheBytes, IdleAfter: o.IdleAfter, FS: o.FS, BootID: "none"}.withDefaults()
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeAll(opts.FS, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open copies: %w", blockedIfFull(err))
	}
	s := &Copies{dir: dir, opts: opts, wake: bell.NewSlot(), open: map[string]*copyOf{}}
	s.removeDeleted()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() { s.run(ctx) })
	return s, nil
}

// removeDeleted removes what a program that ended was deleting.
func (s *Copies) removeDeleted() {
	names, _ := s.opts.FS.ReadDir(s.dir) // a later call reports it
	for _, n := range names {
		if strings.HasPrefix(n.Name(), deletedPrefix) {
			if err := s.opts.FS.RemoveAll(filepath.Join(s.dir, n.Name())); err != nil {
				s.opts.Logger.Warn("a deleted copy cannot be removed", "dir", n.Name(), "err", err)
			}
		}
	}
}

// IDs returns the sessions that have a copy, ascending.
func (s *Copies) IDs() ([]string, error) {
	names, err := s.opts.FS.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list copies: %w", err)
	}
	var ids []string
	for _, n := range names {
		if journal.ValidID(n.Name()) && n.IsDir() {
			ids = append(ids, n.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Metadata returns what the machine said of a session, without opening its copy.
// ErrNotFound if there is none.
func (s *Copies) Metadata(id string) (journal.Metadata, error) {
	if !journal.ValidID(id) {
		return journal.Metadata{}, fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	s.mu.Lock()
	e := s.open[id]
	s.mu.Unlock()
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.copy != nil {
			return e.copy.Metadata(), nil
		}
	}
	m, err := readMetadata(s.opts.FS, filepath.Join(s.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", journal.ErrNotFound, err)
	}
	return m, err
}

// Copy returns the copy of a session, and makes an empty one if there is none. The first
// call opens it and cuts a torn tail. After ErrClosed from a Copy that was not deleted,
// another call returns the one that goes on. Errors are ErrInvalidID, ErrClosed, or why it
// cannot be opened; a later call tries again.
func (s *Copies) Copy(id string) (*Copy, error) {
	var c *Copy
	err := s.alone(id, func(e *copyOf) (err error) {
		c, err = s.opened(id, e)
		return err
	})
	return c, err
}

// Release closes a copy until the next call of Copy. Its readers get ErrClosed.
func (s *Copies) Release(id string) error {
	return s.alone(id, func(e *copyOf) error {
		s.closeCopy(e)
		return nil
	})
}

// Keep moves all lines beyond a seq to the quarantine directory of the copy, because the
// machine's log has others, and returns the copy that goes on from there. The Copy before
// is closed: its readers get ErrClosed, and begin anew.
func (s *Copies) Keep(id string, upTo event.Seq) (*Copy, error) {
	var c *Copy
	err := s.alone(id, func(e *copyOf) (err error) {
		if _, err = s.opened(id, e); err != nil {
			return err
		}
		s.closeCopy(e)
		if err = cutCopy(s.opts.FS, filepath.Join(s.dir, id), max(upTo, 0)); err != nil {
			return blockedIfFull(err)
		}
		c, err = s.opened(id, e)
		return err
	})
	return c, err
}

// Delete deletes a copy with all its files; no error if there is none. Its readers get
// ErrClosed.
func (s *Copies) Delete(id string) error {
	return s.alone(id, func(e *copyOf) error {
		s.closeCopy(e)
		aside := filepath.Join(s.dir, deletedPrefix+id)
		err := s.opts.FS.RemoveAll(aside)
		if err == nil {
			err = s.opts.FS.Rename(filepath.Join(s.dir, id), aside)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = errors.Join(s.opts.FS.SyncDir(s.dir), s.opts.FS.RemoveAll(aside))
		}
		if err != nil {
			return fmt.Errorf("delete the copy of session %s: %w", id, err)
		}
		return nil
	})
}

// Sizes measures the files of one copy.
func (s *Copies) Sizes(id string) (journal.Sizes, error) {
	if !journal.ValidID(id) {
		return journal.Sizes{}, fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	return sizesIn(s.opts.FS, filepath.Join(s.dir, id))
}

// Bytes is what all copies take.
func (s *Copies) Bytes() (bytes int64, err error) {
	names, err := s.opts.FS.ReadDir(s.dir)
	if err != nil {
		return 0, fmt.Errorf("measure copies: %w", err)
	}
	for _, n := range names {
		bytes += sizeOf(s.opts.FS, s.dir, n)
	}
	return bytes, nil
}

// Close syncs and closes every copy. Readers get ErrClosed.
func (s *Copies) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.done.Wait()
	var errs []error
	for _, e := range s.all() {
		e.mu.Lock()
		if e.copy != nil {
			errs = append(errs, e.copy.close())
			e.copy = nil
		}
		e.mu.Unlock()
	}
	return errors.Join(errs...)
}

// alone calls f with the lock of a copy held.
func (s *Copies) alone(id string, f func(*copyOf) error) error {
	if !journal.ValidID(id) {
		return fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	s.mu.Lock()
	e := s.open[id]
	if e == nil {
		e = &copyOf{id: id}
		s.open[id] = e
	}
	s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return journal.ErrClosed
	}
	return f(e)
}

// opened returns the open copy. The caller holds its lock.
func (s *Copies) opened(id string, e *copyOf) (*Copy, error) {
	if e.copy != nil && !e.copy.closed.Load() {
		return e.copy, nil
	}
	_, missing := s.opts.FS.Stat(filepath.Join(s.dir, id))
	dir, err := disk.MakeFolder(s.opts.FS, s.dir, id)
	if err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = s.opts.FS.SyncDir(s.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("make the copy of session %s: %w", id, blockedIfFull(err))
	}
	c, err := openCopy(dir, s.opts, s.wake.Ring)
	if err != nil {
		return nil, blockedIfFull(err)
	}
	e.copy = c
	s.wake.Ring() // it rests when it is idle
	return c, nil
}

// closeCopy closes the copy if it is open. The caller holds its lock.
func (s *Copies) closeCopy(e *copyOf) {
	if e.copy == nil {
		return
	}
	if err := e.copy.close(); err != nil {
		s.opts.Logger.Warn("a copy cannot be closed", "session", e.copy.id, "err", err)
	}
	e.copy = nil
}

func (s *Copies) all() []*copyOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*copyOf, 0, len(s.open))
	for _, e := range s.open {
		all = append(all, e)
	}
	return all
}

// run flushes the copies while there is news, and rests the idle ones.
func (s *Copies) run(ctx context.Context) {
	for {
		select {
		case <-s.wake.C():
		case <-ctx.Done():
			return
		}
		for awake := true; awake; {
			if !pause(ctx, syncCopiesEvery) {
				return
			}
			awake = false
			full := false
			for _, e := range s.all() {
				again, err := s.upkeep(ctx, e)
				awake = again || awake
				full = disk.IsFull(err) || full
				s.say(e, err)
			}
			s.full = full
		}
	}
}

// upkeep flushes one copy, and reports whether there will be more to do.
func (s *Copies) upkeep(ctx context.Context, e *copyOf) (awake bool, err error) {
	e.mu.Lock()
	c := e.copy
	e.mu.Unlock()
	if c == nil || c.closed.Load() || ctx.Err() != nil {
		return false, nil
	}
	err = c.flush()
	if err == nil {
		awake, err = c.file.restIfIdle()
	}
	switch {
	case err == nil:
		return awake, nil
	case errors.Is(err, errTaken), errors.Is(err, journal.ErrAway):
		// What it wrote has no name any more: the next Copy opens what is there.
		err = errors.Join(err, c.close())
	}
	return !c.closed.Load(), err
}

// say logs why a copy cannot be flushed, once until that changes: a full disk once for all.
func (s *Copies) say(e *copyOf, err error) {
	if err == nil {
		e.said = ""
		return
	}
	news := err.Error() != e.said
	e.said = err.Error()
	if disk.IsFull(err) {
		news = !s.full
		s.full = true
	}
	if news {
		s.opts.Logger.Warn("a copy cannot be flushed", "session", e.id, "err", err)
	}
}
