package machines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

	retired  bool          // it ends; guarded by copies.mu
	read     chan struct{} // closed once all was read that the machine had
	readOnce sync.Once
	news     atomic.Int64 // when lines came last, in Unix nanoseconds

	line     atomic.Pointer[state.Info] // what the copy was described by
	watchers atomic.Int32
	full     atomic.Bool  // its disk was, when lines came last
	looked   atomic.Int64 // when somebody looked last, in Unix nanoseconds

	state     atomic.Pointer[[]byte] // nil before the first
	epoch     atomic.Pointer[string] // of the machine's log, as the machine says; nil before
	heard     bell.Bell              // the machine answered
	stateBell bell.Bell
	known     chan struct{} // closed once the state is known, or cannot be
	knownOnce sync.Once
}

// upkeepEvery is how often the copies are looked at.
const upkeepEvery = 10 * time.Second

// mostIdle is how many copies stay open that nobody looks at. They read on when a line changes.
const mostIdle = 64

// copies are the copies of all machines.
type copies struct {
	dir       string
	fs        store.FS
	logger    *slog.Logger
	followFor time.Duration // how long a session is followed after somebody looked at it last
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
	visits    visits
	again     bell.Bell    // what is kept may have changed
	bytes     atomic.Int64 // what the copies take, about; -1 before they are measured
	room      room
	changed   func() // the machines' problems did

	mu      sync.Mutex
	keep    Keep
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

func newCopies(o HomeOptions) *copies {
	follow := o.Follow
	if follow == 0 {
		follow = followFor
	}
	s := &copies{dir: filepath.Join(o.Dir, "copies"), fs: o.FS, followFor: follow, logger: o.Logger, of: map[string]*store.Copies{}, open: map[string]*Copied{}, reached: map[string]reached{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.bytes.Store(-1)
	s.visits = visits{ctx: s.ctx, waiting: map[string][]string{}, queued: map[string]bool{}}
	return s
}

// Watch returns home's copy of a machine's session, and makes it follow the session. ErrUnknown
// if no machine has it.
func (h *Home) Watch(id string) (*Copied, error) {
	for {
		c, ends, err := h.copied(id, true)
		if errors.Is(err, journal.ErrBlocked) {
			h.copies.note(err)
			return nil, errHomeFull
		}
		if ends == nil {
			return c, err
		}
		<-ends
	}
}

// copied returns the copy of a session and opens it if needed. If ends is not nil, the one
// that is open ends: after that there may be another.
func (h *Home) copied(id string, look bool) (c *Copied, ends <-chan struct{}, err error) {
	machine, line, known := h.Of(id)
	if !known {
		return nil, nil, ErrUnknown
	}
	s := h.copies
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
	c = &Copied{home: h, machine: machine.ID, id: id, copy: log, stop: stop, done: make(chan struct{}), known: make(chan struct{}), read: make(chan struct{})}
	if err := c.describe(line); err != nil {
		stop()
		return nil, nil, err
	}
	if look {
		c.look()
		noteOpened(filepath.Join(s.dir, machine.ID, id))
	}
	c.news.Store(time.Now().UnixNano())
	s.open[id] = c
	s.begin()
	s.running.Go(func() { c.live(ctx, of) })
	return c, nil, nil
}

// live reads on until the copy ends, and leaves it.
func (c *Copied) live(ctx context.Context, of *store.Copies) {
	defer c.stop()
	c.run(ctx)
	s := c.home.copies
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

// Configure says what copies are kept from now on.
func (h *Home) Configure(k Keep) {
	s, joined := h.copies, h.Machines()
	s.mu.Lock()
	changed := k.Copies != s.keep.Copies
	s.keep = k
	if len(joined) > 0 {
		s.begin()
	}
	s.mu.Unlock()
	s.again.Ring()
	if changed && k.Copies == KeepAll {
		for _, m := range joined {
			s.rung(m.ID, h.rows.ofMachine(m.ID), nil)
		}
	}
}

// kept returns what is kept.
func (s *copies) kept() Keep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep
}

// note says once that the disk is full, and once that it is not any more.
func (s *copies) note(err error) {
	full := errors.Is(err, journal.ErrBlocked)
	switch {
	case err != nil && !full || !s.room.note(full):
	case full:
		s.logger.Error("there is no space for copies of machines' sessions: they stop; what is asked of machines goes on", "err", err)
		s.changed()
	default:
		s.logger.Info("there is space for copies again")
		s.changed()
		s.again.Ring()
	}
}

// noted keeps how writing this copy ended, for those who wait for its first line.
func (c *Copied) noted(err error) {
	s := c.home.copies
	full := errors.Is(err, journal.ErrBlocked)
	s.note(err)
	if full {
		s.room.owe(c.machine, c.id)
		c.knownOnce.Do(func() { close(c.known) })
	}
	if c.full.Swap(full) != full {
		c.heard.Ring()
	}
}

// begin begins upkeep. It is called with mu held.
func (s *copies) begin() {
	if !s.begun && !s.closed {
		s.begun = true
		s.running.Go(s.upkeep)
	}
}

// upkeep removes what is not kept, and closes what was not needed for the longest time.
func (s *copies) upkeep() {
	for s.ctx.Err() == nil {
		again := s.again.Listen()
		keep := s.kept()
		s.retireIdle()
		for machine, ids := range s.room.due() {
			s.visits.add(machine, ids)
		}
		if s.bytes.Load() < 0 || keep.Copies == KeepNone || keep.Bytes > 0 && s.bytes.Load() > keep.Bytes {
			s.evict(keep)
		}
		select {
		case <-again:
		case <-time.After(min(upkeepEvery, s.followFor)):
		case <-s.ctx.Done():
		}
	}
}

// retireIdle closes the copies beyond mostIdle that nobody looks at.
func (s *copies) retireIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var idle []*Copied
	for _, c := range s.open {
		if !c.retired && !c.wanted() {
			idle = append(idle, c)
		}
	}
	slices.SortFunc(idle, func(a, b *Copied) int { return cmp.Compare(a.news.Load(), b.news.Load()) })
	for _, c := range idle[:max(0, len(idle)-mostIdle)] {
		c.retired = true
		c.stop()
	}
}

// evict measures the copies and removes those that are not kept.
func (s *copies) evict(keep Keep) {
	all, bytes := storedCopies(s.dir)
	for _, one := range all {
		if s.ctx.Err() != nil {
			return
		}
		if keep.Copies != KeepNone && (keep.Bytes == 0 || bytes <= keep.Bytes) {
			break
		}
		s.mu.Lock()
		c := s.open[one.id]
		wanted := c != nil && c.machine == one.machine && c.wanted()
		s.mu.Unlock()
		if !wanted && s.forget(one.machine, one.id) {
			bytes -= one.bytes
		}
	}
	s.bytes.Store(bytes)
}

// visit reads a session on that nobody looks at, up to its end.
func (h *Home) visit(machine, id string) {
	var c *Copied
	for ends := h.copies.ctx.Done(); ends != nil; {
		var err error
		if c, ends, err = h.copied(id, false); err != nil {
			h.copies.note(err)
			h.copies.room.owe(machine, id)
			return
		}
		if ends != nil {
			<-ends
		}
	}
	l := h.met(machine)
	if l == nil {
		return
	}
	select {
	case <-c.read:
	case <-c.done:
	case <-l.ctx.Done():
	case <-h.copies.ctx.Done():
	}
	h.copies.retireIdle()
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
	keep := s.kept()
	var behind []string
	for _, info := range changed {
		id := info.SessionID
		if c := s.opened(id); c != nil && c.machine == machine {
			c.wake.Ring()
			continue
		}
		full := keep.Bytes > 0 && s.bytes.Load() >= keep.Bytes
		s.mu.Lock()
		read := s.reached[machine+"/"+id] == reached{info.Epoch, info.MaxSeq}
		s.mu.Unlock()
		if !read && keep.Copies != KeepNone && (keep.Copies == KeepAll && !full || s.has(machine, id)) {
			behind = append(behind, id)
		}
	}
	if !s.room.owe(machine, behind...) {
		s.visits.add(machine, behind)
	}
	for _, id := range gone {
		s.forget(machine, id)
	}
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
		case c.full.Load():
			return errHomeFull
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
	return c.watchers.Load() > 0 || time.Since(time.Unix(0, c.looked.Load())) < c.home.copies.followFor
}

// run reads on until ctx ends or the copy goes no further.
func (c *Copied) run(ctx context.Context) {
	said := false
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
		case errors.Is(err, journal.ErrBlocked):
			c.noted(err)
		case err != nil && !said:
			said = true
			c.home.logger.Warn("a session cannot be copied", "machine", c.machine, "session", c.id, "err", err)
		}
		if !c.wanted() {
			return // a change of its line has it read again
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
			if q.Sum, err = lineSum(ctx, c.copy, q.After); errors.Is(err, journal.ErrClosed) {
				return errCopyEnded
			} else if err != nil {
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
		if len(lines) > 0 {
			if _, err := c.copy.Append(journal.Stretch{Lines: lines, File: a.File, Last: a.Last}); err != nil {
				if errors.Is(err, store.ErrCopyGap) || errors.Is(err, store.ErrCopyForeign) || errors.Is(err, store.ErrCopyDamaged) {
					c.home.refuse(l, "lines of a log: "+err.Error())
				}
				if errors.Is(err, journal.ErrClosed) {
					return errCopyEnded
				}
				return err
			}
			s := c.home.copies
			c.noted(nil)
			if s.bytes.Load() >= 0 {
				s.bytes.Add(int64(len(lines)))
			}
			c.news.Store(time.Now().UnixNano())
		}
		if a.Epoch != "" {
			c.epoch.Store(&a.Epoch)
		}
		if len(a.State) > 0 {
			data := []byte(a.State)
			c.state.Store(&data)
			c.stateBell.Ring()
		}
		c.knownOnce.Do(func() { close(c.known) })
		c.heard.Ring()
		if len(lines) > 0 {
			continue
		}
		c.readOnce.Do(func() { close(c.read) })
		if wanted {
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
		l.uncut(c.id) // that is home's fault
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

// uncut takes back that a session's log lost events.
func (l *link) uncut(id string) {
	l.cutting.Lock()
	defer l.cutting.Unlock()
	delete(l.cut, id)
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
