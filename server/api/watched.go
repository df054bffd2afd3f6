package api

import (
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Watched is a session as sockets and event streams need it: its log, its state, and the
// place for their presence. *session.BackgroundSession is one. It is safe for concurrent use.
type Watched interface {
	backlog.Source
	// Done is closed when the session is no longer open. Its log stays readable for a while.
	Done() <-chan struct{}
	// Shown is the state, the same pointer while it is the same; nil before Known is closed.
	Shown() *session.State
	// StateChanged is closed when there is a newer state. Take it before Shown.
	StateChanged() <-chan struct{}
	// Known is closed when the state is known, or OpenError says why it cannot become known.
	// Until then ReadSeq is how far the log was read for it.
	Known() <-chan struct{}
	OpenError() error
	ReadSeq() event.Seq
	// CommentCount counts the review comments; CommentsChanged is its bell. Take it before.
	CommentCount() comment.Count
	CommentsChanged() <-chan struct{}
	// SetPresence records what a client says of itself, RemovePresence that it went.
	SetPresence(clientID string, p state.Presence)
	RemovePresence(clientID string)
}
