package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watch notices sessions that other processes make in this store, and what they
// say of them while their logs are not open here.
type watch struct {
	watcher *fsnotify.Watcher // nil where the system cannot tell
	done    chan struct{}     // closed when run has ended
}

// startWatch begins to look at the sessions' directory. Without it the store
// works all the same, and learns of such sessions when it is opened.
func (s *Store) startWatch() {
	s.watch.done = make(chan struct{})
	if _, real := s.opts.FS.(osFS); !real {
		close(s.watch.done)
		return
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(s.root()); err != nil {
			err = errors.Join(err, w.Close())
		}
	}
	if err != nil {
		s.opts.Logger.Warn("sessions of other processes will not be noticed", "err", err)
		close(s.watch.done)
		return
	}
	s.watch.watcher = w
	go func() {
		defer close(s.watch.done)
		s.runWatch(w)
	}()
}

// stopWatch ends the watch and waits for it.
func (s *Store) stopWatch() {
	if s.watch.watcher != nil {
		s.watch.watcher.Close() // fails only if closed already
	}
	<-s.watch.done
}

// runWatch handles news until the watcher is closed.
func (s *Store) runWatch(w *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if err := s.noticed(w, e); err != nil {
				s.opts.Logger.Warn("session of another process cannot be watched", "path", e.Name, "err", err)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			s.opts.Logger.Warn("sessions of other processes may go unnoticed", "err", err)
		}
	}
}

// noticed handles one piece of news.
func (s *Store) noticed(w *fsnotify.Watcher, e fsnotify.Event) error {
	dir, name := filepath.Split(e.Name)
	if dir = filepath.Clean(dir); dir == s.root() {
		if !ValidID(name) {
			return nil
		}
		if e.Has(fsnotify.Create) {
			return s.foreignAppeared(w, name)
		}
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			return s.foreignGone(w, name)
		}
		return nil
	}
	if name == metadataName && ValidID(filepath.Base(dir)) {
		s.foreignChanged(w, filepath.Base(dir))
	}
	return nil
}

// foreignAppeared adds a session that this store did not make.
func (s *Store) foreignAppeared(w *fsnotify.Watcher, id string) error {
	s.mu.Lock()
	known := s.sessions[id] != nil
	s.mu.Unlock()
	if known {
		return nil
	}
	info, err := s.opts.FS.Stat(filepath.Join(s.root(), id))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil // gone again, or no session: load passes over the same
	}
	err = w.Add(filepath.Join(s.root(), id))
	m := s.readListed(id)
	s.mu.Lock()
	if s.sessions[id] == nil && !s.closed {
		s.sessions[id] = &entryOf{meta: m}
	}
	s.mu.Unlock()
	s.bell.Ring()
	return err
}

// foreignChanged reads what another process now says of its session.
func (s *Store) foreignChanged(w *fsnotify.Watcher, id string) {
	m, err := readMetadata(s.opts.FS, filepath.Join(s.root(), id))
	if err != nil {
		return // it is gone, or replaced again: then there is more news
	}
	s.mu.Lock()
	e := s.sessions[id]
	listed := e != nil && e.log == nil // else its log tells
	if listed {
		e.meta = m
	}
	s.mu.Unlock()
	if m.Writer == nil {
		// Its writer is done; if the watch is gone already, so is the session.
		_ = w.Remove(filepath.Join(s.root(), id))
	}
	if listed {
		s.bell.Ring()
	}
}

// foreignGone forgets a session whose directory somebody took away. A directory
// that is there has only got its name: the system tells of a move twice, of the
// directory itself last, and so also a watch that began in between. The watcher
// then ends that watch.
func (s *Store) foreignGone(w *fsnotify.Watcher, id string) error {
	s.mu.Lock()
	listed := s.sessions[id].unopened()
	s.mu.Unlock()
	if !listed {
		return nil
	}
	dir := filepath.Join(s.root(), id)
	if _, err := s.opts.FS.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		err := w.Add(dir)
		s.foreignChanged(w, id) // what was said meanwhile
		return err
	}
	s.mu.Lock()
	gone := s.sessions[id].unopened()
	if gone {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	if gone {
		s.bell.Ring()
	}
	return nil
}

// Changed returns a channel that is closed when other processes made, changed or
// removed sessions, so that List answers otherwise. Take it before asking. What
// this store's own logs do rings their own bells.
func (s *Store) Changed() <-chan struct{} { return s.bell.Listen() }
