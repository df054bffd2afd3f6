package session

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/store"
)

// BackgroundSession is one session: its log, its queue, its agent. It runs whether
// it is watched or not. Its methods are safe for concurrent use.
//
// Events are in the log. State and its bell are for values of which only the latest
// counts. A verb returns when it took effect, not when the agent has reacted. If
// its context ends first, the verb may still take effect. Every verb can be
// repeated without harm.
type BackgroundSession struct {
	id       string
	log      *store.Log
	watchers *watchers
	state    atomic.Pointer[State]
	bell     bell.Bell
	unsaved  atomic.Pointer[string] // why the queue's file cannot be written; nil if it can
	logger   *slog.Logger
	comments *commentBook
	uploads  uploadSum
	// uploading is held for reading by uploads, and for writing by the removal of
	// old ones.
	uploading sync.RWMutex
	counting  chan struct{} // holds a value while an overview is computed
	estimate  atomic.Pointer[segmentEstimate]

	mail chan func(*engine)
	done chan struct{} // closed when the engine accepts no more jobs
	gone chan struct{} // closed when all goroutines of the session have ended
}

// start runs the engine of a recovered session until it ends. It publishes the
// state first, because the list's line may be older than the log.
func start(e *engine) *BackgroundSession {
	b := e.b
	e.publish()
	e.listing.keep(time.Now())
	go e.run() // the closer of the session waits for b.gone
	return b
}

// ID is the session's id.
func (b *BackgroundSession) ID() string { return b.id }

// Log is the session's log, for observers.
func (b *BackgroundSession) Log() *store.Log { return b.log }

// State returns the latest state. It is shared and must not be changed.
func (b *BackgroundSession) State() State { return *b.state.Load() }

// StateChanged returns a channel that is closed when there is a newer state. Take
// it before reading State, or a change in between is missed. When the session is no
// longer open, the channel is always closed.
func (b *BackgroundSession) StateChanged() <-chan struct{} {
	select {
	case <-b.done:
		return b.done
	default:
		return b.bell.Listen()
	}
}

// Queue returns the waiting prompts in the order in which the agent gets them. The
// slice is shared and must not be changed.
func (b *BackgroundSession) Queue() []queue.Item { return b.State().Queue }

// SetPresence sets the activity of the observer clientID. It never blocks.
func (b *BackgroundSession) SetPresence(clientID string, p Presence) { b.watchers.set(clientID, p) }

// RemovePresence removes the observer clientID. It never blocks.
func (b *BackgroundSession) RemovePresence(clientID string) { b.watchers.remove(clientID) }

// Watching lists the current observers. State may be a second behind.
func (b *BackgroundSession) Watching() []Observer { return b.watchers.list() }

var errEnded = fmt.Errorf("%w: the session is being closed", ErrUnavailable)

// ask runs fn in the session's goroutine and returns its result.
func ask[T any](ctx context.Context, b *BackgroundSession, fn func(*engine) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	reply := make(chan answer, 1)
	job := func(e *engine) {
		value, err := fn(e)
		e.publish() // the caller must see its change in the state
		reply <- answer{value, err}
	}
	select {
	case b.mail <- job:
	case <-b.done:
		return none, errEnded
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case a := <-reply: // an accepted job always runs to its end
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// tell is ask for a function without a result.
func tell(ctx context.Context, b *BackgroundSession, fn func(*engine) error) error {
	_, err := ask(ctx, b, func(e *engine) (struct{}, error) { return struct{}{}, fn(e) })
	return err
}
