package session

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/presence"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// BackgroundSession is one session: its log, its queue, its agent. It runs whether
// it is watched or not. Its methods are safe for concurrent use.
//
// Events are in the log. State and its bell are for values of which only the latest
// counts. A verb returns when it took effect, not when the agent has reacted. If
// its context ends first, the verb may still take effect. Every verb can be
// repeated without harm.
type BackgroundSession struct {
	id  string
	log journal.Log
	front
	lease    journal.Lease
	watchers *presence.Watchers
	lines    list.Lines
	logger   *slog.Logger
	comments *comment.Book
	budgets  *budget.Keeper
	uploads  uploadSum
	// uploading is held for reading by uploads, and for writing by the removal of
	// old ones.
	uploading sync.RWMutex
	acting    chan struct{} // holds a value while its branch is acted on
	counting  chan struct{} // holds a value while an overview is computed
	estimate  atomic.Pointer[segmentEstimate]
}

// ID is the session's id.
func (b *BackgroundSession) ID() string { return b.id }

// Log is the session's log, for observers.
func (b *BackgroundSession) Log() journal.Log { return b.log }

// State returns the latest state. It is shared and must not be changed. Before
// Known, only its SessionID is set.
func (b *BackgroundSession) State() State {
	if s := b.shown.state.Load(); s != nil {
		return *s
	}
	return State{SessionID: b.id}
}

// Shown is State as one value for all callers, which must not change it: the same pointer
// is the same state. It is nil before the state is known.
func (b *BackgroundSession) Shown() *State { return b.shown.state.Load() }

// Known returns a channel that is closed when the state is known, or cannot become
// known. Verbs wait for it.
func (b *BackgroundSession) Known() <-chan struct{} { return b.shown.known }

// ReadSeq is the last event that was read to learn the state, 0 before the first. It
// grows until Known, and StateChanged tells.
func (b *BackgroundSession) ReadSeq() event.Seq { return event.Seq(b.shown.readSeq.Load()) }

// OpenError is why the state cannot become known, or nil.
func (b *BackgroundSession) OpenError() error {
	if err := b.shown.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Notable returns the seqs after a seq of the events that a person may be notified of:
// prompts, starts and ends of turns, interruptions, questions and their outcomes.
// complete is false if there may be more, which only the log has.
func (b *BackgroundSession) Notable(after event.Seq) (seqs []event.Seq, complete bool) {
	return b.shown.notable.after(after)
}

// fail ends a session whose state cannot become known.
func (b *BackgroundSession) fail(err error) {
	b.shown.failed.Store(&err)
	close(b.shown.known)
	close(b.mail.done)
	close(b.gone)
	b.lease.Release()
	b.shown.bell.Ring()
}

// StateChanged returns a channel that is closed when there is a newer state. Take
// it before reading State, or a change in between is missed. When the session is no
// longer open, the channel is always closed.
func (b *BackgroundSession) StateChanged() <-chan struct{} {
	select {
	case <-b.mail.done:
		return b.mail.done
	default:
		return b.shown.bell.Listen()
	}
}

// Queue returns the waiting prompts in the order in which the agent gets them. The
// slice is shared and must not be changed.
func (b *BackgroundSession) Queue() []queue.Item { return b.State().Queue }

// Comments are the review comments of the session.
func (b *BackgroundSession) Comments() *comment.Book { return b.comments }

// CommentCount is how many review comments there are. CommentsChanged returns a channel that
// is closed when that changes; take it before.
func (b *BackgroundSession) CommentCount() comment.Count { return b.comments.Count() }

// CommentsChanged is the bell of CommentCount.
func (b *BackgroundSession) CommentsChanged() <-chan struct{} { return b.comments.Changed() }

// SetPresence records what a client that watches the session says of itself, RemovePresence
// that it no longer watches.
func (b *BackgroundSession) SetPresence(clientID string, p state.Presence) {
	b.watchers.Set(clientID, p)
}

// RemovePresence undoes SetPresence.
func (b *BackgroundSession) RemovePresence(clientID string) { b.watchers.Remove(clientID) }

// Presences are the screens that watch the session now.
func (b *BackgroundSession) Presences() []state.Observer { return b.watchers.List() }

// Done returns a channel that is closed when the session is no longer open: it was
// closed to make room, it is being deleted, or the hub is ending. Its log stays
// readable for a while. Manager.Session returns the reason.
func (b *BackgroundSession) Done() <-chan struct{} { return b.mail.done }

// Info returns the session's line of the list.
func (b *BackgroundSession) Info() list.Info { return b.lines.Of(b.log.Metadata(), false) }

// stuck converts an error of the log into one of this package, with the words of
// health, which include the remedy.
func (b *BackgroundSession) stuck(err error) error { return problem.OfWriting(b.id, b.log, err) }

// ReadError is the error for a failed read of the session's log. It explains a
// missing directory.
func (b *BackgroundSession) ReadError(err error) error {
	if errors.Is(err, journal.ErrAway) {
		return problem.OfLog(err)
	}
	return err
}
