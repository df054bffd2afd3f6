package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// listPause is the minimum time between two updates of the session list to one
// client, because a stream changes its session's line all the time.
const listPause = 250 * time.Millisecond

// news are one client's messages that belong to no followed session: changes of the
// list and, after a silence, heartbeats. Thousands of clients usually have none,
// and a waiting goroutine costs its stack. So one goroutine watches all clients
// (watchClients), and another one sends to a client.
type news struct {
	client *SessionWSClient
	// saying is true while a goroutine sends, and before the client was greeted.
	// Meanwhile that goroutine owns list; otherwise watchClients does.
	saying atomic.Bool
	list   listNews

	// Owned by watchClients.
	listAt   time.Time // when the list may be sent again
	pingedAt time.Time // of the last ping; zero before the first
}

// newNews is for a client that has the current list.
func newNews(c *SessionWSClient) *news {
	n := &news{client: c, list: c.listNow()}
	n.saying.Store(true)
	return n
}

// begin records that the client was greeted: news may follow.
func (n *news) begin() { n.saying.Store(false) }

// watchClients sends the news of every client until the server closes.
func (s *Server) watchClients() {
	var saying sync.WaitGroup
	defer saying.Wait()
	tick := time.NewTicker(max(time.Millisecond, min(listPause, s.timing.Heartbeat/20, s.timing.Ping/4)))
	defer tick.Stop()
	var arrivals arrivalGarbage
	granted := s.registry.Changed()
	s.api.MeetAll()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			if rung(granted) {
				granted = s.registry.Changed()
				s.api.MeetAll()
			}
			if arrivals.due(s.clients.everRun()+s.manager.EverOpened(), now) {
				giveBack()
			}
			s.clients.each(func(c *SessionWSClient) { c.news.look(now, &saying) })
		}
	}
}

// look starts to send the news in goroutines of the given group. It does not wait.
func (n *news) look(now time.Time, goroutines *sync.WaitGroup) {
	c := n.client
	if n.saying.Load() || rung(c.ended) {
		return
	}
	n.pulse(goroutines)
	list := !now.Before(n.listAt) && n.list.more()
	// Send a little early, because the silence includes the frame's way to the
	// client. A write in progress also ends the silence.
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

// say sends the list if it has changed, or else a heartbeat. A failure ends the
// socket.
func (n *news) say(list bool) {
	if list {
		n.list = n.client.sendList(n.list)
		return
	}
	n.client.send(n.client.ctx, &wire.Heartbeat{MaxSeq: n.client.maxSeqs()})
}

// pulse detects a connection whose other end has disappeared: after a silence it
// sends a ping, and without a sign of life within the write limit it ends the socket.
// While a frame is in flight no answer can be expected, and that frame has its own
// limit.
func (n *news) pulse(goroutines *sync.WaitGroup) {
	c := n.client
	waited := time.Since(n.pingedAt)
	silent := c.heard() // read later than waited, so an answer is never missed
	if c.writing() || silent < c.server.timing.Ping {
		return
	}
	switch {
	case n.pingedAt.IsZero() || silent < waited:
		n.pingedAt = time.Now()
		goroutines.Go(func() { c.write(c.ctx, pingFrame) })
	case waited >= c.server.timing.Write:
		c.end(ending{dead: true})
	}
}
