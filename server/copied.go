package server

import (
	"encoding/json"
	"sync"

	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// copied is home's copy of a machine's session as sockets follow it. Its comments and who is
// at other screens of the machine are the machine's.
type copied struct {
	*machines.Copied

	mu    sync.Mutex
	of    *byte // the first byte of the state that shown was made of
	shown *session.State
	here  map[string]state.Presence // the clients that look
	never chan struct{}
}

var _ api.Watched = (*copied)(nil)

func newCopied(c *machines.Copied) *copied {
	return &copied{Copied: c, here: map[string]state.Presence{}, never: make(chan struct{})}
}

// over reports whether the copy goes no further.
func (c *copied) over() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// ReadError implements backlog.Source.
func (c *copied) ReadError(err error) error { return err }

// Shown implements api.Watched. Without a state of the machine it is that of an idle session.
func (c *copied) Shown() *session.State {
	data := c.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown != nil && (len(data) == 0 && c.of == nil || len(data) > 0 && c.of == &data[0]) {
		return c.shown
	}
	c.of = nil
	if len(data) > 0 {
		c.of = &data[0]
	}
	var frame wire.State
	if json.Unmarshal(data, &frame) != nil {
		frame = wire.State{}
	}
	frame.SessionID = c.ID() // whatever the machine says
	now := api.StateFrom(frame)
	c.shown = &now
	return c.shown
}

// OpenError implements api.Watched.
func (c *copied) OpenError() error { return nil }

// ReadSeq implements api.Watched.
func (c *copied) ReadSeq() event.Seq { return c.Log().Marks().Visible }

// CommentCount implements api.Watched.
func (c *copied) CommentCount() comment.Count { return comment.Count{} }

// CommentsChanged implements api.Watched.
func (c *copied) CommentsChanged() <-chan struct{} { return c.never }

// SetPresence implements api.Watched.
func (c *copied) SetPresence(clientID string, p state.Presence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.here[clientID]; !known {
		c.Add(1)
	}
	c.here[clientID] = p
}

// presences are the screens of this hub that show it.
func (c *copied) presences() (list []state.Observer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.here {
		list = append(list, state.Observer{ClientID: id, Presence: p})
	}
	return list
}

// RemovePresence implements api.Watched.
func (c *copied) RemovePresence(clientID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.here[clientID]; known {
		delete(c.here, clientID)
		c.Add(-1)
	}
}
