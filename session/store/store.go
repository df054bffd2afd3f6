package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
)

// Store is a data directory, locked by this process. It is safe for concurrent use.
type Store struct {
	// Set at construction.
	dir     string
	opts    Options
	hub     hubFile
	crashed bool // the machine stopped under the run before
	lock    File

	mu       sync.Mutex
	sessions map[string]*entryOf
	keep     int64 // Options.KeepBytes, or the value of the last SetKeep
	closed   bool
}

// entryOf is the store's entry for one session.
type entryOf struct {
	meta    journal.Metadata // as on disk, while the log is not open
	log     *Log             // nil until it is opened
	opening chan struct{}    // closed when an attempt to open has ended
	suspect bool             // the device failed that attempt; used while the log is opened
	hidden  bool             // being created; not listed yet
	fence   int64            // of the latest lease
}

// Open opens the data directory dir, and creates it if it is missing. If another
// hub has it, the error is a *LockedError. It opens no log: each is recovered when
// it is first needed. The caller closes the store.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	if err := makeDirs(o.FS, dir); err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	lock, err := lockDir(o.FS, dir, o.Now())
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	s := &Store{dir: dir, opts: o, lock: lock, sessions: map[string]*entryOf{}, keep: o.KeepBytes}
	if err := s.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("open data directory: %w", err), lock.Close())
	}
	return s, nil
}

// makeDirs makes the data directory and its fixed folders.
func makeDirs(fsys FS, dir string) error {
	if err := makeAll(fsys, dir); err != nil {
		return err
	}
	return makeDir(fsys, filepath.Join(dir, sessionsDir))
}

// makeAll creates a directory and its missing parents. It syncs each name, because
// a power cut must not remove a directory with sessions.
func makeAll(fsys FS, dir string) error {
	parent := filepath.Dir(dir)
	if _, err := fsys.Stat(parent); errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeAll(fsys, parent); err != nil {
			return err
		}
	}
	return makeDir(fsys, dir)
}

func makeDir(fsys FS, dir string) error {
	if err := fsys.Mkdir(dir); err != nil {
		return err
	}
	err := fsys.SyncDir(filepath.Dir(dir))
	if errors.Is(err, fs.ErrPermission) {
		// Some systems let a directory be traversed but not listed. On Linux, a
		// journal's sync of a directory includes the directory's own name.
		return fsys.SyncDir(dir)
	}
	return err
}

// begin records this run and reads the metadata for lists.
func (s *Store) begin() error {
	hub, before, err := beginRun(s.opts.FS, s.dir, s.opts.BootID, s.opts.Now())
	if err != nil && !disk.IsFull(err) {
		return err
	}
	s.hub = hub
	if err != nil {
		// On a full device sessions can still be read. Close writes hub.json.
		s.opts.Logger.Warn("the run could not be recorded", "file", hubName, "err", err)
	}
	if before.RunID != "" && !isRun(before.RunID) {
		s.opts.Logger.Warn("the id of the run before is invalid; ids start over", "file", hubName, "run", before.RunID)
	}
	s.crashed = !before.Clean && before.BootID != s.opts.BootID
	return s.load()
}

// load reads the metadata of every session.
func (s *Store) load() error {
	root := s.root()
	names, err := s.opts.FS.ReadDir(root)
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	var ids []string
	for _, n := range names {
		switch name := n.Name(); {
		case journal.ValidID(name) && n.IsDir():
			ids = append(ids, name)
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, deletedPrefix):
			s.removeAbandoned(filepath.Join(root, name))
		}
	}
	found := make([]journal.Metadata, len(ids))
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	const share = 256 // sessions per goroutine: one each would cost more than the reading
	for from := 0; from < len(ids); from += share {
		group.Go(func() error {
			for i := from; i < min(from+share, len(ids)); i++ {
				found[i] = s.readListed(ids[i])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.mu.Lock()
	for i, id := range ids {
		s.sessions[id] = &entryOf{meta: found[i]}
	}
	s.mu.Unlock()
	s.finishPurges()
	return nil
}

// readListed reads one session's metadata for lists. If it is unreadable, the
// session is still listed, so that it can be opened and its metadata rebuilt.
func (s *Store) readListed(id string) journal.Metadata {
	return s.readIn(filepath.Join(s.root(), id))
}

// readIn is readListed of a session whose directory is dir.
func (s *Store) readIn(dir string) journal.Metadata {
	m, err := readMetadata(s.opts.FS, dir)
	if err == nil || errors.Is(err, errDoubtful) {
		return m // good enough for a list
	}
	m = journal.Metadata{SessionID: filepath.Base(dir)}
	if given, err := readLabels(s.opts.FS, dir); err == nil {
		label(&m, given)
	}
	if info, err := s.opts.FS.Stat(dir); err == nil {
		m.UpdatedAt = info.ModTime().UTC()
		m.CreatedAt = m.UpdatedAt
	}
	return m
}

// removeAbandoned removes a session that was being created or deleted when its
// program ended.
func (s *Store) removeAbandoned(dir string) {
	// The rename may not be synced: see putAway.
	err := s.opts.FS.SyncDir(filepath.Dir(dir))
	if err == nil {
		err = s.opts.FS.RemoveAll(dir)
	}
	if err != nil {
		s.opts.Logger.Warn("abandoned session cannot be removed", "dir", dir, "err", err)
	}
}

// finishPurges removes what a program that ended was removing from the trash.
func (s *Store) finishPurges() {
	names, _ := s.opts.FS.ReadDir(s.trash()) // there may be none
	for _, n := range names {
		if strings.HasPrefix(n.Name(), deletedPrefix) {
			s.removeAbandoned(filepath.Join(s.trash(), n.Name()))
		}
	}
}

func (s *Store) root() string { return filepath.Join(s.dir, sessionsDir) }

func (s *Store) trash() string { return filepath.Join(s.dir, trashDir) }

// Dir is the absolute path of the data directory.
func (s *Store) Dir() string { return s.dir }

// HubID identifies the data directory for life: 16 hex digits.
func (s *Store) HubID() string { return s.hub.HubID }

// RunID identifies this run: 16 hex digits, greater as text than any run's
// before.
func (s *Store) RunID() string { return s.hub.LastRun.RunID }

// Create creates a session, which is on the device when it returns. It sets start's
// Format, SessionID and Epoch; the log begins with that event.
func (s *Store) Create(ctx context.Context, start event.SessionStart) (*Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	start.Format, start.Epoch = logFormat, journal.NewEpoch()
	start.SessionID = journal.NewID(s.opts.Now())
	id := start.SessionID
	e := &entryOf{opening: make(chan struct{}), hidden: true}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, journal.ErrClosed
	}
	s.sessions[id] = e
	s.mu.Unlock()
	l, err := createLog(filepath.Join(s.root(), id), s.RunID(), s.opts, start)
	s.mu.Lock()
	opening := e.opening
	e.opening, e.hidden = nil, false
	if err == nil {
		e.log = l
		l.leased.Store(e.fence)
		l.retention.setKeep(s.keep)
	} else {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	close(opening)
	if err != nil {
		return nil, createError(cmp.Or(allAway(s.opts.FS, s.root()), err))
	}
	return l, nil
}

// Log returns a session's log. The first call opens and recovers it; concurrent
// calls wait for that, but not calls for other sessions. A log that cannot be
// repaired for lack of space is readable and HealthBlocked. Errors are
// ErrInvalidID, ErrNotFound, or why the log cannot be opened; a later call tries
// again.
func (s *Store) Log(ctx context.Context, id string) (*Log, error) {
	if !journal.ValidID(id) {
		return nil, fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, journal.ErrClosed
		}
		e := s.sessions[id]
		if e == nil {
			s.mu.Unlock()
			return nil, fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
		}
		if e.log != nil {
			s.mu.Unlock()
			return e.log, nil
		}
		if opening := e.opening; opening != nil {
			s.mu.Unlock()
			select {
			case <-opening:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		e.opening = make(chan struct{})
		s.mu.Unlock()
		return s.openEntry(ctx, id, e)
	}
}

// openEntry opens the log of an entry this goroutine has reserved.
func (s *Store) openEntry(ctx context.Context, id string, e *entryOf) (*Log, error) {
	dir := filepath.Join(s.root(), id)
	before := prior{crashed: s.crashed, suspect: e.suspect}
	l, _, err := openLog(ctx, dir, s.RunID(), s.opts, before)
	if errors.Is(err, journal.ErrNotFound) {
		err = cmp.Or(allAway(s.opts.FS, s.root()), err)
	}
	before.suspect = before.suspect || errors.Is(err, errDistrusted)
	s.mu.Lock()
	opening := e.opening
	e.opening = nil
	e.suspect = before.suspect
	if err == nil {
		e.suspect = false // the Log remembers it now
		e.log = l
		l.leased.Store(e.fence)
		l.retention.setKeep(s.keep)
	}
	s.mu.Unlock()
	close(opening)
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", id, err)
	}
	return l, nil
}

// SetKeep changes the size limit of each log: beyond it the oldest complete files
// are removed, never the active one. Zero is no limit. It applies soon to open
// logs, and to each other log when it is opened. Marks.Min shows removed events.
func (s *Store) SetKeep(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = bytes
	for _, e := range s.sessions {
		if e.log != nil {
			e.log.retention.setKeep(bytes)
		}
	}
}

// SessionDir is the directory of a session, where its other files lie.
func (s *Store) SessionDir(id string) (string, error) {
	if !journal.ValidID(id) {
		return "", fmt.Errorf("%w: %q", journal.ErrInvalidID, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] == nil {
		return "", fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
	}
	return filepath.Join(s.root(), id), nil
}

// StaleUploads lists blobs of a session that were uploaded before a time and are
// not known to be named by the log. It does not open the log.
func (s *Store) StaleUploads(id string, before time.Time) ([]string, error) {
	dir, err := s.SessionDir(id)
	if err != nil {
		return nil, err
	}
	return blobs.New(s.opts.FS, dir, nil, nil).StaleUploads(before, nil)
}

// Delete deletes a session with all its files, also a damaged one. It closes the
// log first: readers get ErrClosed.
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.putAway(ctx, id, filepath.Join(s.root(), deletedPrefix+id))
	if err == nil {
		err = s.opts.FS.RemoveAll(filepath.Join(s.root(), deletedPrefix+id))
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}

// putAway closes a session's log and renames its directory. The new name is on the device
// when it returns. A session that cannot be renamed stays listed.
func (s *Store) putAway(ctx context.Context, id, to string) error {
	if err := allAway(s.opts.FS, s.root()); err != nil {
		return err // it would come back with them
	}
	l, err := s.Log(ctx, id)
	if errors.Is(err, journal.ErrInvalidID) || errors.Is(err, journal.ErrClosed) || ctx.Err() != nil {
		return err
	}
	s.mu.Lock()
	e := s.sessions[id]
	if e == nil || e.log != l || e.opening != nil {
		s.mu.Unlock()
		return fmt.Errorf("session %s: %w", id, journal.ErrNotFound)
	}
	delete(s.sessions, id)
	s.mu.Unlock()
	if l != nil {
		if err := l.close(); err != nil {
			s.opts.Logger.Warn("log of a deleted session cannot be closed", "session", id, "err", err)
		}
	}
	from := filepath.Join(s.root(), id)
	if err := s.opts.FS.Rename(from, to); err != nil {
		if _, there := s.opts.FS.Stat(from); errors.Is(there, fs.ErrNotExist) {
			return s.opts.FS.SyncDir(s.root())
		}
		s.list(id)
		return err
	}
	// A power cut may undo the rename, and must not leave half a session.
	if parent := filepath.Dir(to); parent != s.root() {
		if err := s.opts.FS.SyncDir(parent); err != nil {
			return err
		}
	}
	return s.opts.FS.SyncDir(s.root())
}

// list lists a session whose directory is there.
func (s *Store) list(id string) {
	meta := s.readListed(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = &entryOf{meta: meta}
}

// Close syncs every log, marks the run as clean and releases the data directory. A
// log that cannot be synced leaves the run unclean.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var logs []*Log
	var opening []chan struct{}
	for _, e := range s.sessions {
		if e.opening != nil {
			opening = append(opening, e.opening)
		}
	}
	s.mu.Unlock()
	for _, o := range opening {
		<-o
	}
	s.mu.Lock()
	for _, e := range s.sessions {
		if e.log != nil {
			logs = append(logs, e.log)
		}
	}
	s.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(8) // closing waits for the device; concurrent syncs share its flushes
	errs := make([]error, len(logs))
	for i, l := range logs {
		group.Go(func() error { errs[i] = l.close(); return nil })
	}
	err := errors.Join(append(errs, group.Wait())...)
	if err == nil {
		s.hub.LastRun.Clean = true
		err = s.hub.write(s.opts.FS, s.dir)
	}
	if err := errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close data directory: %w", err)
	}
	return nil
}

// createError says that a session could not be made.
func createError(err error) error {
	if disk.IsFull(err) {
		return fmt.Errorf("create session: %w: %w", journal.ErrBlocked, err)
	}
	return fmt.Errorf("create session: %w", err)
}

// Derived returns the directory of files computed from all logs.
func (s *Store) Derived() Derived { return Derived{s.opts.FS, filepath.Join(s.dir, derivedDir)} }
