package notify

import (
	"context"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// subject is a session as far as deciding on a notification needs it.
type subject interface {
	ID() string
	// Presences are the screens that watch it.
	Presences() []state.Observer
}

// watched is a session of which people are notified.
type watched interface {
	subject
	Log() journal.Log
	// Notable are the seqs after a seq that may count; complete means that they are all.
	Notable(after event.Seq) (seqs []event.Seq, complete bool)
	// AnswerPermission answers a question.
	AnswerPermission(ctx context.Context, a session.Answer) (event.PermissionOutcome, error)
}

// sessions are those of which people are notified.
type sessions interface {
	// Opened returns a session that is open, or nil.
	Opened(id string) watched
	Info(ctx context.Context, id string) (list.Info, error)
	List(o list.Options) (list.Page, error)
	// ChangesSince returns what changed after a version of the list; Changed is its bell.
	ChangesSince(version uint64) (changed []list.Info, gone []string, now uint64)
	Changed() <-chan struct{}
}

// managed are the sessions of a manager.
type managed struct{ *session.Manager }

func (m managed) Opened(id string) watched {
	if b := m.Manager.Opened(id); b != nil {
		return b
	}
	return nil
}
