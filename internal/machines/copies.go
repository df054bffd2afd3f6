package machines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// followFor is how long a session is followed after somebody looked at it last.
const followFor = time.Minute

// copies are the copies of all machines: which there are, and which are open.
type copies struct {
	// Set at construction.
	dir       string
	fs        store.FS
	logger    *slog.Logger
	from      elsewhere     // set before the copies are used
	followFor time.Duration // how long a session is followed after somebody looked at it last
	ctx       context.Context
	stop      context.CancelFunc

	running sync.WaitGroup
	visits  visits
	keeping keeping
	fetches fetches

	mu      sync.Mutex
	of      map[string]*store.Copies // by machine
	open    map[string]*Copied       // by session
	reached map[string]reached       // what was read of sessions whose copy is not open, by <machine>/<session>
	begun   bool                     // upkeep runs
	closed  bool
}

// reached is the end of a log that was read.
type reached struct {
	epoch string
	seq   event.Seq
}

// newCopies returns the copies in a directory. follow is followFor if 0.
func newCopies(dir string, fs store.FS, follow time.Duration, logger *slog.Logger) *copies {
	if follow == 0 {
		follow = followFor
	}
	s := &copies{dir: dir, fs: fs, followFor: follow, logger: logger, keeping: keeping{logger: logger}, of: map[string]*store.Copies{}, open: map[string]*Copied{}, reached: map[string]reached{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.keeping.bytes.Store(-1)
	s.visits = visits{ctx: s.ctx, waiting: map[string][]string{}, queued: map[string]bool{}, visit: s.visit}
	return s
}

// copied returns the copy of a session and opens it if needed. If ends is not nil, the one
// that is open ends: after that there may be another.
func (s *copies) copied(id string, look bool) (c *Copied, ends <-chan struct{}, err error) {
	machine, line, known := s.from.Of(id)
	if !known {
		return nil, nil, ErrUnknown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	}
	if c := s.open[id]; c != nil && c.retired {
		return nil, c.done, nil
	} else if c != nil && c.machine == machine.ID {
		if look {
			c.look()
			noteOpened(filepath.Join(s.dir, machine.ID, id))
		}
		return c, nil, c.describe(line)
	}
	if !machine.Connected && !s.has(machine.ID, id) {
		return nil, nil, errNoCopy
	}
	of, err := s.ofMachine(machine.ID)
	if err != nil {
		return nil, nil, err
	}
	log, err := of.Copy(id)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	c = &Copied{from: s.from, keeping: &s.keeping, logger: s.logger, machine: machine.ID, id: id, copy: log, stop: stop, cutAt: func(equal event.Seq) error { return s.cut(machine.ID, id, equal) }}
	c.begin(s.followFor)
	if err := c.describe(line); err != nil {
		stop()
		return nil, nil, err
	}
	if look {
		c.look()
		noteOpened(filepath.Join(s.dir, machine.ID, id))
	}
	s.open[id] = c
	s.begin()
	s.running.Go(func() { s.live(ctx, c, of) })
	return c, nil, nil
}

// live reads on until the copy ends, and leaves it.
func (s *copies) live(ctx context.Context, c *Copied, of *store.Copies) {
	defer c.stop()
	c.run(ctx)
	s.mu.Lock()
	c.retired = true
	if !s.closed {
		s.reached[c.machine+"/"+c.id] = reached{c.copy.Epoch(), c.copy.Marks().Visible}
		if err := of.Release(c.id); err != nil && !errors.Is(err, journal.ErrClosed) {
			s.logger.Warn("a copy could not be closed", "session", c.id, "err", err)
		}
	}
	delete(s.open, c.id)
	s.mu.Unlock()
	close(c.done)
}

// ofMachine returns the copies of a machine. It is called with mu held.
func (s *copies) ofMachine(machine string) (of *store.Copies, err error) {
	if of = s.of[machine]; of == nil {
		if of, err = store.OpenCopies(filepath.Join(s.dir, machine), store.CopyOptions{Logger: s.logger, FS: s.fs}); err == nil {
			s.of[machine] = of
		}
	}
	return of, err
}

func (s *copies) opened(id string) *Copied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// has reports whether there is a copy of a session.
func (s *copies) has(machine, id string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, machine, id))
	return err == nil
}

// rung wakes the copies of a machine's sessions of which lines changed, and ends those of
// sessions that are gone.
func (s *copies) rung(machine string, changed []state.Info, gone []string) {
	keep := s.keeping.now()
	var behind []string
	for _, info := range changed {
		id := info.SessionID
		if c := s.opened(id); c != nil && c.machine == machine {
			c.wake.Ring()
			continue
		}
		full := s.keeping.reached(keep)
		s.mu.Lock()
		read := s.reached[machine+"/"+id] == reached{info.Epoch, info.MaxSeq}
		s.mu.Unlock()
		if !read && keep.Copies != KeepNone && (keep.Copies == KeepAll && !full || s.has(machine, id)) {
			behind = append(behind, id)
		}
	}
	if !s.keeping.room.owe(machine, behind...) {
		s.visits.add(machine, behind)
	}
	for _, id := range gone {
		s.forget(machine, id)
	}
}

// forget removes a copy, and reports whether it did.
func (s *copies) forget(machine, id string) bool {
	if !s.has(machine, id) {
		return false // no copy was made, in this run or before
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	c := s.open[id]
	of, err := s.ofMachine(machine)
	if c != nil && c.machine == machine {
		c.retired = true
		c.stop()
	}
	s.mu.Unlock()
	if c != nil && c.machine == machine {
		<-c.done
	}
	if err == nil {
		err = of.Delete(id)
	}
	s.mu.Lock()
	delete(s.reached, machine+"/"+id)
	s.mu.Unlock()
	if err != nil {
		s.logger.Warn("a copy could not be removed", "session", id, "err", err)
	}
	return err == nil
}

// drop removes all copies of a machine.
func (s *copies) drop(machine string) {
	s.mu.Lock()
	var open []*Copied
	for _, c := range s.open {
		if c.machine == machine {
			c.retired = true
			open = append(open, c)
		}
	}
	of := s.of[machine]
	delete(s.of, machine)
	s.mu.Unlock()
	for _, c := range open {
		c.stop()
		<-c.done
	}
	var err error
	if of != nil {
		err = of.Close()
	}
	if err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, machine))); err != nil {
		s.logger.Warn("the copies of a machine could not be removed", "machine", machine, "err", err)
	}
}

// close ends all copies.
func (s *copies) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.visits.end()
	s.running.Wait()
	for _, of := range s.of {
		if err := of.Close(); err != nil {
			s.logger.Warn("copies could not be closed", "err", err)
		}
	}
}

// cut has a copy end behind a seq. errCopyEnded if its machine was forgotten.
func (s *copies) cut(machine, id string, equal event.Seq) error {
	s.mu.Lock()
	of := s.of[machine]
	s.mu.Unlock()
	if of == nil {
		return errCopyEnded
	}
	_, err := of.Keep(id, equal)
	return err
}
