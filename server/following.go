package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// maxFollows limits the sessions that one socket follows.
const maxFollows = 64

// following is the goroutine of a follow, as its client sees it.
type following struct {
	id       string
	stop     chan struct{} // closed by cancel
	stopOnce sync.Once
	running  sync.WaitGroup
	// session is nil until it is opened. The client's mu guards it and presence,
	// the client's last report about itself.
	session  api.Watched
	presence state.Presence
	typedAt  time.Time // when the client last reported typing
}

// life is a context that ends when a channel is closed. A standard context would
// cost half a KiB more for each client and each followed session.
type life <-chan struct{}

func (l life) Deadline() (time.Time, bool) { return time.Time{}, false }
func (l life) Done() <-chan struct{}       { return l }
func (l life) Value(any) any               { return nil }

func (l life) Err() error {
	if rung(l) {
		return context.Canceled
	}
	return nil
}

// cancel tells the following to end. It does not wait.
func (f *following) cancel() { f.stopOnce.Do(func() { close(f.stop) }) }

// observe starts or restarts following a session.
func (c *SessionWSClient) observe(m *wire.Observe) error {
	from, err := backlog.NewPlace(m.AfterSeq, m.Epoch, m.Tail, m.Merge)
	if err != nil {
		return err
	}
	c.stopFollow(m.SessionID)
	c.mu.Lock()
	full := len(c.follows) >= maxFollows
	c.mu.Unlock()
	if full {
		return &api.Problem{Code: wire.CodeBusy, Message: "this connection follows as many sessions as it may"}
	}
	c.startFollow(m.SessionID, m.RequestID, from, nil)
	return nil
}

// startFollow follows a session and opens it if needed. Opening may repair a log,
// so it happens in the new goroutine.
func (c *SessionWSClient) startFollow(id, requestID string, from backlog.Place, opened api.Watched) {
	f := &following{id: id, stop: make(chan struct{}), session: opened}
	f.running.Add(1)
	c.mu.Lock()
	c.follows = append(c.follows, f)
	if rung(c.ended) { // cancelFollows may already have run
		f.cancel()
	}
	c.mu.Unlock()
	c.wait.Go(func() {
		defer f.running.Done()
		defer c.forget(f)
		c.followUntilClosed(life(f.stop), id, requestID, from, f)
	})
}

// cancelFollows tells every following to end when the socket ends.
func (c *SessionWSClient) cancelFollows() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.follows {
		f.cancel()
	}
}

// followUntilClosed follows a session until the client stops it. If the hub closes
// the session meanwhile, it is reopened and followed from the cursor.
func (c *SessionWSClient) followUntilClosed(ctx context.Context, id, requestID string, from backlog.Place, f *following) {
	c.mu.Lock()
	s := f.session
	c.mu.Unlock()
	if s == nil {
		var err error
		if s, err = c.server.sessions.Watch(ctx, id); err != nil && ctx.Err() != nil {
			c.refuseStopped(requestID, id)
			return
		} else if err != nil {
			c.refuseSession(requestID, id, err)
			return
		}
		c.mu.Lock()
		f.session = s
		c.mu.Unlock()
	}
	c.presence(id, func(p *state.Presence) {
		grant := c.grant.Load()
		p.Actor, p.Device, p.Activity = grant.Actor(), grant.ID, state.Viewing
	})
	defer s.RemovePresence(c.id)
	follow := &follow{client: c, session: s, requestID: requestID, place: from}
	err := follow.run(ctx)
	for errors.Is(err, errOvertaken) && ctx.Err() == nil {
		err = follow.run(ctx) // the verdict says what is missing
	}
	switch {
	case ctx.Err() != nil && follow.frames == nil: // it ended before a verdict
		c.refuseStopped(requestID, id)
	case ctx.Err() != nil, errors.Is(err, errGone):
	case s.OpenError() != nil:
		c.refuseSession("", id, s.OpenError())
	case rung(s.Done()):
		c.sessionClosed(ctx, id)
	default:
		c.logger().Error("following failed", "session", id, "err", err)
		c.end(ending{code: websocket.StatusInternalError, reason: "following failed"})
	}
}

// refuseStopped answers an observe that was stopped before its verdict, by the
// client or because its access ended.
func (c *SessionWSClient) refuseStopped(requestID, id string) {
	switch {
	case requestID == "" || rung(c.ended): // no client waits for an answer
	case !c.may(auth.Read, id):
		c.refuse(requestID, id, api.Forbidden())
	default:
		c.refuse(requestID, id, &api.Problem{Code: wire.CodeConflict, Message: "another observe or an unobserve of this session came before this one was answered"})
	}
}

// sessionClosed tells a client why a session was closed. If it was closed to make
// room, or the hub is stopping, the client can return with its cursor.
func (c *SessionWSClient) sessionClosed(ctx context.Context, id string) {
	err := c.server.sessions.Closed(ctx, id)
	switch {
	case ctx.Err() != nil: // it was stopped meanwhile, by the client or by the news that the session is gone
	case errors.Is(err, state.ErrNotFound):
		c.sendGone("", id)
	default:
		c.end(ending{code: websocket.StatusGoingAway, reason: "the session was put aside", goodbye: true})
	}
}

// stopFollow stops following a session, if it is followed. When it returns, nothing
// more is sent about it.
func (c *SessionWSClient) stopFollow(id string) {
	c.mu.Lock()
	f := c.follow(id)
	c.mu.Unlock()
	if f == nil {
		return
	}
	f.cancel()
	f.running.Wait()
}

func (c *SessionWSClient) forget(f *following) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follows = slices.DeleteFunc(c.follows, func(other *following) bool { return other == f })
}

// follow returns the following of a session, or nil. The caller holds mu.
func (c *SessionWSClient) follow(id string) *following {
	for _, f := range c.follows {
		if f.id == id {
			return f
		}
	}
	return nil
}

// followed returns a session that this client follows, or nil.
func (c *SessionWSClient) followed(id string) api.Watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.follow(id); f != nil {
		return f.session
	}
	return nil
}
