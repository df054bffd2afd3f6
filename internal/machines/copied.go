package machines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// readGrace is how much longer than the machine home waits for the answer of a read.
const readGrace = 5 * time.Second

var (
	// errNoCopy means that a session cannot be read.
	errNoCopy = fmt.Errorf("%w: the machine is away, and this hub has no copy of the session", state.ErrUnavailable)
	// errCopyEnded ends a copy: it is cut or gone.
	errCopyEnded = errors.New("the copy goes no further")
)

// elsewhere is what copies know of the machines.
type elsewhere interface {
	// Of returns the machine that has a session, and the session's line.
	Of(id string) (m Machine, line state.Info, known bool)
	// Machine returns a machine by its id. ErrUnknown if there is none.
	Machine(id string) (Machine, error)
	// reader reads logs of a machine; nil while it is away. Changed is its bell.
	reader(machine string) logReader
	Changed() <-chan struct{}
}

// logReader reads logs of a machine over one connection.
type logReader interface {
	read(ctx context.Context, q readHead) (a linesHead, lines []byte, err error)
	// ended is closed with the connection.
	ended() <-chan struct{}
	// refuse counts that the machine broke the protocol.
	refuse(why string)
	// mayCut reports whether a session's log may have lost events; uncut takes that back.
	mayCut(id string) bool
	uncut(id string)
}

// Copied is home's copy of a session of a machine: the log as far as it was read, and the
// newest state. While somebody looks it reads on, once for all who look; otherwise when a
// line of the machine's list says that there is more: see run. It is safe for concurrent use.
type Copied struct {
	// Set at construction.
	from        elsewhere
	keeping     *keeping
	logger      *slog.Logger
	machine, id string
	copy        *store.Copy
	stop        context.CancelFunc
	// cutAt has the copy end behind a seq, and keeps the rest in quarantine.
	cutAt func(equal event.Seq) error

	wake      bell.Bell // somebody looks, or there may be more
	heard     bell.Bell // the machine answered
	attention attention
	state     shownState
	line      atomic.Pointer[state.Info] // what the copy was described by
	epoch     atomic.Pointer[string]     // of the machine's log, as the machine says; nil before
	news      atomic.Int64               // when lines came last, in Unix nanoseconds
	full      atomic.Bool                // the disk was, when lines came last

	read     chan struct{} // closed once all was read that the machine had
	readOnce sync.Once

	retired bool          // it ends; guarded by copies.mu
	done    chan struct{} // closed when the copy goes no further: it is opened anew, or gone
}

// begin completes a copy whose first fields are set.
func (c *Copied) begin(lasts time.Duration) {
	c.attention.lasts = lasts
	c.state.known, c.read, c.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.news.Store(time.Now().UnixNano())
}

// ID is the session's id.
func (c *Copied) ID() string { return c.id }

// Log is the copy of the session's log.
func (c *Copied) Log() journal.Log {
	c.attention.note()
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
		heard, changed := c.heard.Listen(), c.from.Changed()
		switch {
		case c.Log().Epoch() != "":
			return nil
		case c.full.Load():
			return errHomeFull
		case c.from.reader(c.machine) == nil:
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
func (c *Copied) State() []byte { return c.state.now() }

// StateChanged is closed when there is a newer state. Take it before State.
func (c *Copied) StateChanged() <-chan struct{} { return c.state.bell.Listen() }

// Known is closed once the state is known, or cannot be: the machine is away.
func (c *Copied) Known() <-chan struct{} { return c.state.known }

// Add counts somebody who looks until it is called with -1.
func (c *Copied) Add(n int32) {
	c.attention.watchers.Add(n)
	c.look()
}

func (c *Copied) look() {
	c.attention.note()
	c.wake.Ring()
}

// describe keeps what the machine's list says of the session as the copy's metadata.
func (c *Copied) describe(line state.Info) error {
	line.Machine = nil
	was := c.line.Swap(&line)
	if was != nil && reflect.DeepEqual(*was, line) {
		return nil
	}
	return c.copy.SetMetadata(metadataOf(line))
}

// noted keeps how writing this copy ended, for those who wait for its first line.
func (c *Copied) noted(err error) {
	full := errors.Is(err, journal.ErrBlocked)
	c.keeping.note(err)
	if full {
		c.keeping.room.owe(c.machine, c.id)
		c.state.settle()
	}
	if c.full.Swap(full) != full {
		c.heard.Ring()
	}
}

// shownState is the newest state of a session.
type shownState struct {
	data  atomic.Pointer[[]byte] // nil before the first
	bell  bell.Bell
	known chan struct{} // closed once the state is known, or cannot be
	once  sync.Once
}

func (s *shownState) now() []byte {
	if data := s.data.Load(); data != nil {
		return *data
	}
	return nil
}

func (s *shownState) set(data []byte) {
	s.data.Store(&data)
	s.bell.Ring()
}

// settle says that the state is known, or cannot be.
func (s *shownState) settle() { s.once.Do(func() { close(s.known) }) }

// attention is who looks at a session, or did.
type attention struct {
	lasts    time.Duration // how long the session is followed after somebody looked last
	watchers atomic.Int32
	looked   atomic.Int64 // when somebody looked last, in Unix nanoseconds
}

func (a *attention) note() { a.looked.Store(time.Now().UnixNano()) }

// wanted reports whether the session is followed: somebody looks or did lately.
func (a *attention) wanted() bool {
	return a.watchers.Load() > 0 || time.Since(time.Unix(0, a.looked.Load())) < a.lasts
}
