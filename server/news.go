package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// listPause is the least time between two tellings of the session list to one
// client: a stream changes its session's line all the time.
const listPause = 250 * time.Millisecond

// news are one client's messages that belong to no followed session: the list's
// changes and, when nothing else was sent, heartbeats. Thousands of clients mostly
// have none, and a goroutine that waits costs its stack: so one looks after all of
// them (watchClients), and one more sends to one client.
type news struct {
	client *SessionWSClient
	// saying is true while a goroutine sends one, and before the client was
	// greeted. Meanwhile that one owns the list, else watchClients.
	saying atomic.Bool
	list   listNews

	// owned by watchClients
	listAt  time.Time // when the list may be told of again
	pulseAt time.Time // when a pong may be asked for again
}

// newNews is for a client that knows the list as it is now.
func newNews(c *SessionWSClient) *news {
	n := &news{client: c, list: c.listNow()}
	n.saying.Store(true)
	return n
}

// begin says that the client was greeted: news may follow.
func (n *news) begin() { n.saying.Store(false) }

// watchClients looks after the news of every client until the server closes.
func (s *Server) watchClients() {
	var saying sync.WaitGroup
	defer saying.Wait()
	tick := time.NewTicker(max(time.Millisecond, min(listPause, s.timing.Heartbeat/20, s.timing.Ping/4)))
	defer tick.Stop()
	var upgrades upgradeGarbage
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			if upgrades.due(s.clients.everRun(), now) {
				giveBack()
			}
			s.clients.each(func(c *SessionWSClient) { c.news.look(now, &saying) })
		}
	}
}

// look starts to send the news, in goroutines of the given group. It does not wait.
func (n *news) look(now time.Time, goroutines *sync.WaitGroup) {
	c := n.client
	if n.saying.Load() || rung(c.ended) {
		return
	}
	if !c.writing() && !now.Before(n.pulseAt) && c.heard() >= c.server.timing.Ping {
		// This finds connections with a vanished other end. A frame in flight has a
		// bound of its own.
		n.pulseAt = now.Add(c.server.timing.Ping)
		goroutines.Go(c.ping)
	}
	list := !now.Before(n.listAt) && n.list.more()
	// A little early, because the frame's way to the client is part of the silence.
	// A write that is under way breaks the silence as well.
	beat := !c.writing() && c.wrote() >= c.server.timing.Heartbeat*9/10
	if !list && !beat {
		return
	}
	if list {
		n.listAt = now.Add(listPause)
	}
	n.saying.Store(true)
	goroutines.Go(func() {
		defer n.saying.Store(false)
		n.say(list)
	})
}

// say tells of the list if it has changed, and is a sign of life if it has not. A
// failure ends the socket.
func (n *news) say(list bool) {
	if list {
		n.list = n.client.sendList(n.list)
		return
	}
	n.client.send(n.client.ctx, &wire.Heartbeat{MaxSeq: n.client.maxSeqs()})
}

// ping asks the other end for a pong, and ends the socket if none comes. The
// library bounds its own write of the ping, so a client that stopped reading just
// then may be cut without the code of one too slow: it comes back either way.
func (c *SessionWSClient) ping() {
	// The end of the socket closes the connection, and that ends the ping.
	ctx, cancel := context.WithTimeout(context.Background(), c.server.timing.Write)
	defer cancel()
	err := c.conn.Ping(ctx)
	switch {
	case err == nil:
		c.sign()
	case errors.Is(err, context.DeadlineExceeded) && c.writing():
		// Behind a frame that is not taken no pong can come: that has its bound.
	default:
		c.end(ending{dead: true})
	}
}
