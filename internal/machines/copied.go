package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/store/logfile"
)

const (
	// readWait is how long a read of a followed session waits at the machine for news.
	readWait = 10 * time.Second
	// readGrace is how much longer home waits for its answer.
	readGrace = 5 * time.Second
	// followFor is how long a session is followed after somebody looked at it last.
	followFor = time.Minute
	// earlyPause is the pause after an answer without news to a read that was to wait.
	earlyPause = 100 * time.Millisecond
)

// Copied is home's copy of a session of a machine: the log as far as it was read, and the
// newest state. While somebody looks it reads on, once for all who look; otherwise when a
// line of the machine's list says that there is more. It is safe for concurrent use.
type Copied struct {
	home        *Home
	machine, id string
	copy        *store.Copy
	stop        context.CancelFunc
	done        chan struct{} // closed when the copy goes no further: it is opened anew, or gone
	wake        bell.Bell     // somebody looks, or there may be more

	line     atomic.Pointer[state.Info] // what the copy was described by
	watchers atomic.Int32
	looked   atomic.Int64 // when somebody looked last, in Unix nanoseconds

	state     atomic.Pointer[[]byte] // nil before the first
	epoch     atomic.Pointer[string] // of the machine's log, as the machine says; nil before
	heard     bell.Bell              // the machine answered
	stateBell bell.Bell
	known     chan struct{} // closed once the state is known, or cannot be
	knownOnce sync.Once
}

// copies are the copies of all machines.
type copies struct {
	dir     string
	logger  *slog.Logger
	running sync.WaitGroup

	mu     sync.Mutex
	of     map[string]*store.Copies // by machine
	open   map[string]*Copied       // by session
	closed bool
}

func newCopies(dir string, logger *slog.Logger) *copies {
	return &copies{dir: filepath.Join(dir, "copies"), logger: logger, of: map[string]*store.Copies{}, open: map[string]*Copied{}}
}

// Watch returns home's copy of a machine's session, and makes it follow the session. ErrUnknown
// if no machine has it.
func (h *Home) Watch(id string) (*Copied, error) {
	machine, line, known := h.Of(id)
	if !known {
		return nil, ErrUnknown
	}
	s := h.copies
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	}
	if c := s.open[id]; c != nil && c.machine == machine.ID {
		c.look()
		return c, c.describe(line)
	}
	if !machine.Connected && !s.has(machine.ID, id) {
		return nil, errNoCopy
	}
	of, err := s.ofMachine(machine.ID)
	if err != nil {
		return nil, err
	}
	log, err := of.Copy(id)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Copied{home: h, machine: machine.ID, id: id, copy: log, stop: stop, done: make(chan struct{}), known: make(chan struct{})}
	if err := c.describe(line); err != nil {
		stop()
		return nil, err
	}
	c.look()
	s.open[id] = c
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer stop()
		c.run(ctx)
		s.mu.Lock()
		if s.open[id] == c {
			delete(s.open, id)
		}
		s.mu.Unlock()
		close(c.done)
	}()
	return c, nil
}

// errNoCopy means that a session cannot be read.
var errNoCopy = fmt.Errorf("%w: the machine is away, and this hub has no copy of the session", state.ErrUnavailable)

// has reports whether there is a copy of a session.
func (s *copies) has(machine, id string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, machine, id))
	return err == nil
}

// rung wakes the copies of a machine's sessions of which lines changed, and ends those of
// sessions that are gone.
func (s *copies) rung(machine string, changed []state.Info, gone []string) {
	for _, info := range changed {
		if c := s.opened(info.SessionID); c != nil && c.machine == machine {
			c.wake.Ring()
		}
	}
	for _, id := range gone {
		s.forget(machine, id)
	}
}

// ofMachine returns the copies of a machine. It is called with mu held.
func (s *copies) ofMachine(machine string) (of *store.Copies, err error) {
	if of = s.of[machine]; of == nil {
		if of, err = store.OpenCopies(filepath.Join(s.dir, machine), store.CopyOptions{Logger: s.logger}); err == nil {
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

// forget removes the copy of a session that is gone.
func (s *copies) forget(machine, id string) {
	if !s.has(machine, id) {
		return // no copy was made, in this run or before
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	c := s.open[id]
	of, err := s.ofMachine(machine)
	s.mu.Unlock()
	if c != nil && c.machine == machine {
		c.stop()
		<-c.done
	}
	if err == nil {
		err = of.Delete(id)
	}
	if err != nil {
		s.logger.Warn("a copy could not be removed", "session", id, "err", err)
	}
}

// drop removes all copies of a machine.
func (s *copies) drop(machine string) {
	s.mu.Lock()
	var open []*Copied
	for _, c := range s.open {
		if c.machine == machine {
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
	for _, c := range s.open {
		c.stop()
	}
	s.mu.Unlock()
	s.running.Wait()
	for _, of := range s.of {
		if err := of.Close(); err != nil {
			s.logger.Warn("copies could not be closed", "err", err)
		}
	}
}

// Stored returns the stored lines of the copies.
func (h *Home) Stored() Stored { return Stored{h.copies.dir} }

// describe keeps what the machine's list says of the session as the copy's metadata.
func (c *Copied) describe(line state.Info) error {
	line.Machine = nil
	was := c.line.Swap(&line)
	if was != nil && reflect.DeepEqual(*was, line) {
		return nil
	}
	return c.copy.SetMetadata(metadataOf(line))
}

// ID is the session's id.
func (c *Copied) ID() string { return c.id }

// Log is the copy of the session's log.
func (c *Copied) Log() journal.Log {
	c.looked.Store(time.Now().UnixNano())
	return copiedLog{c.copy.Log(), c}
}

// copiedLog is a copy with the epoch of its machine's log while it has no line.
type copiedLog struct {
	journal.Log
	of *Copied
}

// Epoch is that of the machine's log; empty if the copy has no line and the machine was away
// since home started.
func (l copiedLog) Epoch() string {
	if epoch := l.Log.Epoch(); epoch != "" {
		return epoch
	}
	if said := l.of.epoch.Load(); said != nil {
		return *said
	}
	return ""
}

// Begun waits until the copy has a line or the machine said that there is none: before, nothing
// is known of the log. ErrUnavailable if the machine is away, or does not answer.
func (c *Copied) Begun(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readGrace, fmt.Errorf("%w: the machine does not answer", state.ErrUnavailable))
	defer cancel()
	for {
		heard, changed := c.heard.Listen(), c.home.Changed()
		switch {
		case c.Log().Epoch() != "":
			return nil
		case c.home.met(c.machine) == nil:
			return errNoCopy
		}
		select {
		case <-heard:
		case <-changed:
		case <-c.done:
			return fmt.Errorf("session %s: %w", c.id, state.ErrNotFound)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Done is closed when the copy goes no further. Watch may return another one.
func (c *Copied) Done() <-chan struct{} { return c.done }

// State is the newest state, as JSON of the frame state; nil before Known is closed, and if
// the machine was away since home started.
func (c *Copied) State() []byte {
	if data := c.state.Load(); data != nil {
		return *data
	}
	return nil
}

// StateChanged is closed when there is a newer state. Take it before State.
func (c *Copied) StateChanged() <-chan struct{} { return c.stateBell.Listen() }

// Known is closed once the state is known, or cannot be: the machine is away.
func (c *Copied) Known() <-chan struct{} { return c.known }

// Add counts somebody who looks until it is called with -1.
func (c *Copied) Add(n int32) {
	c.watchers.Add(n)
	c.look()
}

func (c *Copied) look() {
	c.looked.Store(time.Now().UnixNano())
	c.wake.Ring()
}

// wanted reports whether the session is followed: somebody looks or did lately.
func (c *Copied) wanted() bool {
	return c.watchers.Load() > 0 || time.Since(time.Unix(0, c.looked.Load())) < followFor
}

// run reads on until ctx ends or the copy goes no further.
func (c *Copied) run(ctx context.Context) {
	for ctx.Err() == nil {
		changed := c.home.Changed()
		l := c.home.met(c.machine)
		if l == nil {
			c.knownOnce.Do(func() { close(c.known) })
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := c.follow(ctx, l)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errCopyEnded):
			return
		case l.ctx.Err() != nil: // asked again at once when it is back
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		case err != nil:
			c.home.logger.Warn("a session cannot be copied", "machine", c.machine, "session", c.id, "err", err)
		}
		select { // e.g. a full disk: commands go on meanwhile
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// errCopyEnded ends a copy: it is cut or gone.
var errCopyEnded = errors.New("the copy goes no further")

// follow reads over one connection.
func (c *Copied) follow(ctx context.Context, l *link) error {
	verified := false
	for {
		wake := c.wake.Listen()
		q := readHead{SessionID: c.id, After: c.copy.Marks().Visible, Most: partBytes}
		if data := c.state.Load(); data != nil {
			q.State = sumOf(*data)
		}
		if q.After > 0 && !verified {
			var err error
			if q.Sum, err = lineSum(ctx, c.copy, q.After); err != nil {
				return err
			}
		}
		wanted := c.wanted()
		if wanted {
			q.Wait = int(readWait / time.Millisecond)
		}
		began := time.Now()
		a, lines, err := l.read(ctx, q)
		if err != nil {
			return err
		}
		switch {
		case a.Error == readGone:
			c.knownOnce.Do(func() { close(c.known) })
			return errCopyEnded
		case a.Error != "":
			return fmt.Errorf("%w: the machine says: %s", state.ErrUnavailable, words(a.Error))
		case a.Other:
			return c.cut(ctx, l, q.After)
		}
		verified = true
		if wanted && len(lines) == 0 && len(a.State) == 0 && time.Since(began) < readWait/2 {
			select { // it was to wait: the session was closed there, or it only says so
			case <-time.After(earlyPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if a.Epoch != "" {
			c.epoch.Store(&a.Epoch)
		}
		if len(lines) > 0 {
			if _, err := c.copy.Append(journal.Stretch{Lines: lines, File: a.File, Last: a.Last}); err != nil {
				if errors.Is(err, store.ErrCopyGap) || errors.Is(err, store.ErrCopyForeign) || errors.Is(err, store.ErrCopyDamaged) {
					c.home.refuse(l, "lines of a log: "+err.Error())
				}
				return err
			}
		}
		if len(a.State) > 0 {
			data := []byte(a.State)
			c.state.Store(&data)
			c.stateBell.Ring()
		}
		c.knownOnce.Do(func() { close(c.known) })
		c.heard.Ring()
		if len(lines) > 0 || wanted {
			continue
		}
		select {
		case <-wake:
		case <-l.ctx.Done():
			return l.ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// cut keeps what is equal in both logs: the machine lost what came after. The rest goes into
// quarantine, and the copy is opened anew.
func (c *Copied) cut(ctx context.Context, l *link, end event.Seq) error {
	if !l.mayCut(c.id) {
		l.home.refuse(l, "another log, again, in one run")
		return errors.New("the machine says again that it has another log")
	}
	equal, other := c.copy.Marks().Min-1, end
	for other-equal > 1 {
		at := equal + (other-equal)/2
		sum, err := lineSum(ctx, c.copy, at)
		if err != nil {
			return err
		}
		a, _, err := l.read(ctx, readHead{SessionID: c.id, After: at, Sum: sum, Most: 1})
		switch {
		case err != nil:
			return err
		case a.Error != "":
			return fmt.Errorf("%w: the machine says: %s", state.ErrUnavailable, words(a.Error))
		case a.Other:
			other = at
		default:
			equal = at
		}
	}
	c.home.copies.mu.Lock()
	of := c.home.copies.of[c.machine]
	c.home.copies.mu.Unlock()
	if of == nil { // the machine was forgotten
		return errCopyEnded
	}
	c.home.logger.Warn("a machine's log has other events than its copy: these are kept in the copy's quarantine", "machine", c.machine, "session", c.id, "after", equal)
	if _, err := of.Keep(c.id, equal); err != nil {
		return err
	}
	return errCopyEnded
}

// cutsApart is the shortest time between two cuts of one copy over one connection. A machine
// loses events at its start, and removes old ones about once a day.
const cutsApart = 10 * time.Minute

// mayCut reports whether a session's log may have lost events.
func (l *link) mayCut(id string) bool {
	l.cutting.Lock()
	defer l.cutting.Unlock()
	now := l.home.now()
	if at, before := l.cut[id]; before && now.Sub(at) < cutsApart {
		return false
	}
	if l.cut == nil {
		l.cut = map[string]time.Time{}
	}
	l.cut[id] = now
	return true
}

// read asks the machine for what is new in a log.
func (l *link) read(ctx context.Context, q readHead) (a linesHead, lines []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(q.Wait)*time.Millisecond+readGrace)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	m, err := l.conn.RequestWithContext(ctx, below(l.id, "read"), message(q, nil))
	if err != nil {
		return a, nil, err
	}
	lines, err = parse(m.Data, &a)
	switch {
	case err != nil:
	case len(a.State) > 0 && !json.Valid(a.State):
		err = errors.New("a state that is no JSON")
	case a.Epoch != "" && !logfile.IsEpoch(a.Epoch):
		err = errors.New("an epoch that is none")
	case len(lines) > partBytes+logfile.MaxLine:
		err = errors.New("more than was asked for")
	}
	if err != nil {
		l.home.refuse(l, "a wrong answer of a read: "+err.Error())
	}
	return a, lines, err
}

// met returns a machine's connection, once it said hello.
func (h *Home) met(machine string) *link {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[machine]; l != nil && l.met() {
		return l
	}
	return nil
}
