package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// A client may send frameRate frames a second, and frameBurst at once, of any
	// content. Beyond that it is read more slowly.
	frameRate  = 200
	frameBurst = 1000
	// maxSlow limits the requests of one client that wait for an agent.
	maxSlow = 8
)

// SessionWSClient is one socket and the sessions it follows. One goroutine reads
// it, and each followed session has a goroutine with its own cursor. Messages that
// belong to no session have a goroutine only while there are any (see news). A
// goroutine with a message to send waits for the socket's write turn, so a slow
// socket delays only its own client.
type SessionWSClient struct {
	// Set at construction.
	*socket
	server  *Server
	id      string
	peer    string          // the client's address
	own     string          // the session in the socket's URL, if any
	ctx     context.Context // ends with the socket
	wait    sync.WaitGroup  // all goroutines of this client except run's and its news'
	slow    atomic.Int32    // requests that wait for an agent
	calls   elsewhereCalls  // requests that machines carry out
	waiting waitingCalls    // requests that wait for the state of a session
	news    *news

	grant atomic.Pointer[auth.Grant]

	mu      sync.Mutex
	follows []*following // few, usually one
}

func newClient(s *Server, on *socket, grant auth.Grant, own, peer string) *SessionWSClient {
	id := make([]byte, 8)
	rand.Read(id)
	c := &SessionWSClient{
		socket: on, server: s, id: hex.EncodeToString(id), own: own, peer: peer,
		ctx: life(on.ended),
	}
	c.grant.Store(&grant)
	c.news = newNews(c)
	c.waiting.ended, c.waiting.running = on.ended, &c.wait
	on.leave = c.leave
	on.under.frames.pace = pacer(on.ended)
	return c
}

// run serves the socket until it ends. If the URL names a session, run follows it
// from the given place before the client has sent anything.
func (c *SessionWSClient) run(own api.Watched, from backlog.Place) {
	if c.send(c.ctx, c.connected()) == nil {
		c.news.list.grants = c.sendGrants(nil)
		c.news.begin()
		if own != nil {
			c.startFollow(own.ID(), "", from, own)
		}
	}
	c.read()
	c.wait.Wait()
}

// leave tells the client's goroutines to end when its socket ends. run waits for
// them.
func (c *SessionWSClient) leave() {
	c.wait.Go(func() {
		c.cancelFollows()
		c.close()
	})
}

func (c *SessionWSClient) logger() *slog.Logger { return c.server.logger.With("client", c.id) }

func (c *SessionWSClient) connected() *wire.Connected {
	s := c.server
	return &wire.Connected{
		Protocol: wire.Version, Version: s.version, HubID: s.hubID, ClientID: c.id,
		HeartbeatMS: s.timing.Heartbeat.Milliseconds(),
		Limits:      s.limits(*c.grant.Load()),
		Scope:       string(c.grant.Load().Scope), Time: time.Now().UTC(),
	}
}

// limits returns what a client with the grant may send and ask for at most.
func (s *Server) limits(g auth.Grant) wire.Limits {
	return wire.Limits{
		MaxFrame: int(maxFrame(g)), MaxPage: wire.MaxPage, MaxQueue: queueSize(s.manager.Settings()),
		MaxAttachment: s.manager.Settings().Limits.AttachmentBytes, TrashDays: s.api.TrashDays(),
	}
}

// send encodes and sends one message.
func (c *SessionWSClient) send(ctx context.Context, m wire.Message) error {
	frame, err := encoded(m)
	if err != nil {
		return err
	}
	return c.write(ctx, frame)
}

// read handles the client's messages in order until the connection is closed.
func (c *SessionWSClient) read() {
	for {
		// Closing the connection ends the read: a context would cost a timer for
		// each message.
		kind, data, err := c.conn.Read(context.Background())
		if err != nil {
			// The peer closed, sent too much (the library responded with 1009), or
			// the connection broke.
			c.end(ending{dead: true})
			return
		}
		c.sign()
		if rung(c.ended) {
			continue // wait only for the peer's close
		}
		if kind != websocket.MessageText {
			c.end(ending{code: wire.CloseProtocol, reason: "binary frames are not part of the protocol"})
			continue
		}
		c.handle(data)
	}
}

// pacer returns a function that waits until a client may send n more frames, or its
// socket ends.
func pacer(ended <-chan struct{}) func(n int) {
	pace := rate.NewLimiter(frameRate, frameBurst)
	return func(n int) {
		for ; n > 0; n -= frameBurst {
			// After the socket ended, input is read only to find the peer's close.
			if pace.WaitN(life(ended), min(n, frameBurst)) != nil {
				return
			}
		}
	}
}

// gone stops following a deleted session and tells the client.
func (c *SessionWSClient) gone(id string) {
	c.stopFollow(id)
	c.sendGone("", id)
}

func (c *SessionWSClient) sendGone(requestID, id string) {
	if c.send(c.ctx, &wire.SessionGone{RequestID: requestID, SessionID: id}) == nil && id == c.own {
		c.end(ending{code: wire.CloseSessionGone, reason: "the session is gone"})
	}
}

func (c *SessionWSClient) may(verb auth.Verb, sessionID string) bool {
	return c.grant.Load().May(verb, sessionID)
}

// maxSeqs returns the last seq of each followed session.
func (c *SessionWSClient) maxSeqs() map[string]event.Seq {
	c.mu.Lock()
	defer c.mu.Unlock()
	seqs := make(map[string]event.Seq, len(c.follows))
	for _, f := range c.follows {
		if f.session != nil {
			seqs[f.id] = f.session.Log().Marks().Visible
		}
	}
	return seqs
}

// regrant reads the current grant of this socket's credential from the registry, or
// ends the socket if there is none.
func (c *SessionWSClient) regrant() {
	held := c.grant.Load()
	now, err := c.server.registry.Grant(held.Kind, held.ID)
	if err != nil {
		c.end(ending{code: wire.CloseRevoked, reason: "your access ended", goodbye: true})
		return
	}
	c.grant.Store(&now)
	c.conn.SetReadLimit(maxFrame(now))
	if c.own != "" && !now.May(auth.Read, c.own) {
		c.end(ending{code: wire.CloseScopeLost, reason: "your access does not cover this session any more", goodbye: true})
		return
	}
	c.mu.Lock()
	follows := slices.Clone(c.follows)
	c.mu.Unlock()
	for _, f := range follows {
		if !now.May(auth.Read, f.id) {
			f.cancel()
		} else {
			// The name, and the right to answer, may have changed.
			c.presence(f.id, func(p *state.Presence) { p.Actor = now.Actor() })
		}
	}
}
