package server

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// maxFollows bounds the sessions one socket follows.
const maxFollows = 64

// following is a follow's goroutine as its client sees it.
type following struct {
	cancel context.CancelFunc
	done   chan struct{}
	// session is nil until it was opened; guarded by the client's mu, as is
	// presence, what the client last told of itself.
	session  *session.BackgroundSession
	presence session.Presence
	typedAt  time.Time // when it last said that somebody types
}

// observe starts following a session, or starts over.
func (c *SessionWSClient) observe(m *wire.Observe) error {
	from, err := newPlace(m.AfterSeq, m.Epoch, m.Tail, m.Merge)
	if err != nil {
		return err
	}
	c.stopFollow(m.SessionID)
	c.mu.Lock()
	full := len(c.follows) >= maxFollows
	c.mu.Unlock()
	if full {
		return &problem{code: wire.CodeBusy, message: "this connection follows as many sessions as it may"}
	}
	c.startFollow(m.SessionID, m.RequestID, from, nil)
	return nil
}

// startFollow follows a session that is not followed, opening it if need be.
// Opening may have to repair a log, so it happens in the new goroutine.
func (c *SessionWSClient) startFollow(id, requestID string, from place, opened *session.BackgroundSession) {
	ctx, cancel := context.WithCancel(c.ctx)
	f := &following{cancel: cancel, done: make(chan struct{}), session: opened}
	c.mu.Lock()
	c.follows[id] = f
	c.mu.Unlock()
	c.wait.Go(func() {
		defer close(f.done)
		defer cancel()
		defer c.forget(id, f)
		c.followUntilClosed(ctx, id, requestID, from, f)
	})
}

// followUntilClosed follows a session until the client has enough of it. One
// that the hub put aside meanwhile is opened again where the cursor was.
func (c *SessionWSClient) followUntilClosed(ctx context.Context, id, requestID string, from place, f *following) {
	c.mu.Lock()
	s := f.session
	c.mu.Unlock()
	if s == nil {
		var err error
		if s, err = c.server.manager.Session(ctx, id); err != nil {
			c.refuseSession(requestID, id, err)
			return
		}
		c.mu.Lock()
		f.session = s
		c.mu.Unlock()
	}
	c.presence(id, func(p *session.Presence) { p.Actor, p.Activity = c.grant.Load().Actor(), session.Viewing })
	defer s.RemovePresence(c.id)
	follow := &follow{client: c, session: s, requestID: requestID, place: from}
	err := follow.run(ctx)
	for errors.Is(err, errOvertaken) && ctx.Err() == nil {
		err = follow.run(ctx) // the verdict says what is gone
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, errGone):
	case rung(s.Done()):
		c.sessionClosed(ctx, id)
	default:
		c.logger.Error("following failed", "session", id, "err", err)
		c.end(ending{code: websocket.StatusInternalError, reason: "following failed"})
	}
}

// sessionClosed tells a client what became of a session that was closed under
// it. One that is only put aside, or whose hub is ending, is worth coming back
// for by cursor.
func (c *SessionWSClient) sessionClosed(ctx context.Context, id string) {
	_, err := c.server.manager.Session(ctx, id)
	if !errors.Is(err, session.ErrNotFound) {
		c.end(ending{code: websocket.StatusGoingAway, reason: "the session was put aside", goodbye: true})
		return
	}
	c.sendGone("", id)
}

// stopFollow ends the following of a session, if there is one, and returns when
// nothing of it will be sent any more.
func (c *SessionWSClient) stopFollow(id string) {
	c.mu.Lock()
	f := c.follows[id]
	c.mu.Unlock()
	if f == nil {
		return
	}
	f.cancel()
	<-f.done
}

func (c *SessionWSClient) forget(id string, f *following) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.follows[id] == f {
		delete(c.follows, id)
	}
}

// followed returns a session this client follows, or nil.
func (c *SessionWSClient) followed(id string) *session.BackgroundSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.follows[id]; f != nil {
		return f.session
	}
	return nil
}
