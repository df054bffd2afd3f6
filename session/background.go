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

// BackgroundSession is one session: its log, its queue, its agent. It goes on
// whether it is watched or not. Its methods may be called by any number of
// goroutines.
//
// Events are in the log; State and its bell are for values of which only the latest
// counts. A verb returns when it took effect, not when the agent has done anything
// about it. When a context ends first, the verb may still take effect; verbs are
// made so that sending them again is harmless.
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
	// uploading is held by uploads, and by the removal of old ones.
	uploading sync.RWMutex
	counting  chan struct{} // holds one while an overview is computed
	estimate  atomic.Pointer[segmentEstimate]

	mail chan func(*engine)
	done chan struct{} // closed when the engine takes no more jobs
	gone chan struct{} // closed when nothing of the session runs any more
}

// start runs a recovered session's engine until it ends. The state of the log is
// published before the session is handed out: the list's line may be older than a
// kill.
func start(e *engine) *BackgroundSession {
	b := e.b
	e.publish()
	e.listing.keep(time.Now())
	go e.run() // waited for through b.gone, by the closer of the session
	return b
}

// ID is the session's id.
func (b *BackgroundSession) ID() string { return b.id }

// Log is the session's log, for observers.
func (b *BackgroundSession) Log() *store.Log { return b.log }

// State returns the latest state. It is shared and must not be changed.
func (b *BackgroundSession) State() State { return *b.state.Load() }

// StateChanged returns a channel that is closed when there is a newer state.
// Take it before reading State, or news in between is missed. It is closed for
// good when the session is no longer open.
func (b *BackgroundSession) StateChanged() <-chan struct{} {
	select {
	case <-b.done:
		return b.done
	default:
		return b.bell.Listen()
	}
}

// Queue returns the waiting prompts, in the order they will be given to the
// agent. The slice is shared and must not be changed.
func (b *BackgroundSession) Queue() []queue.Item { return b.State().Queue }

// SetPresence sets the activity of the observer clientID. It never blocks.
func (b *BackgroundSession) SetPresence(clientID string, p Presence) { b.watchers.set(clientID, p) }

// RemovePresence says that the observer clientID is gone. It never blocks.
func (b *BackgroundSession) RemovePresence(clientID string) { b.watchers.remove(clientID) }

// Watching lists the observers as they are now, which State may be a second behind.
func (b *BackgroundSession) Watching() []Observer { return b.watchers.list() }

var errEnded = fmt.Errorf("%w: the session is being closed", ErrUnavailable)

// ask runs fn in the session's goroutine and returns its answer.
func ask[T any](ctx context.Context, b *BackgroundSession, fn func(*engine) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	reply := make(chan answer, 1)
	job := func(e *engine) {
		value, err := fn(e)
		e.publish() // the caller finds its change in the state
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
	case a := <-reply: // a job that was taken always runs to its end
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// tell runs fn in the session's goroutine, for verbs without an answer.
func tell(ctx context.Context, b *BackgroundSession, fn func(*engine) error) error {
	_, err := ask(ctx, b, func(e *engine) (struct{}, error) { return struct{}{}, fn(e) })
	return err
}
