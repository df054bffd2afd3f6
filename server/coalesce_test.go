package server_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// frameBound is the size limit of the events in a frame with more than one event.
const frameBound = 64 << 10

func TestEventsThatWaitGoOutInFramesAsFullAs64KiBAllows(t *testing.T) {
	for name, of := range map[string]struct{ tail, short int }{
		// The tail in memory after a pause begins with pieces of 1 to 32 KiB.
		"from memory": {8 << 20, 6}, "from the file": {8 << 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, hubOptions{tail: of.tail})
			s := h.session()
			const size = 1000
			grow(t, s, 1000, size)
			last := s.Log().Marks().Visible
			p := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=0", s.ID()))
			short := 0
			for cursor := event.Seq(0); cursor < last; {
				head, events := p.rawEvents()
				require.Equal(t, cursor+1, head.FirstSeq)
				cursor = head.LastSeq
				require.LessOrEqual(t, len(events), frameBound)
				if cursor < last && len(events) < frameBound-size-200 {
					short++ // the next event would have fit
				}
			}
			require.LessOrEqual(t, short, of.short)
		})
	}
}

func TestAnEventLargerThanAFrameGoesOutAlone(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	grow(t, s, 1, 10)
	grow(t, s, 1, 100_000)
	grow(t, s, 1, 10)
	p := h.dial(fmt.Sprintf("/api/sessions/%s/ws?after_seq=0", s.ID()))
	var frames []string
	for cursor := event.Seq(0); cursor < 4; {
		head, events := p.rawEvents()
		cursor = head.LastSeq
		frames = append(frames, fmt.Sprintf("%d-%d %t", head.FirstSeq, head.LastSeq, len(events) > frameBound))
	}
	require.Equal(t, "1-2 false, 3-3 true, 4-4 false", strings.Join(frames, ", "))
}

// deadlines counts how often the write deadlines of a listener's connections are
// set, and the bytes written.
type deadlines struct {
	net.Listener
	moved, writes atomic.Int64
}

func (l *deadlines) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{conn, l}, nil
}

type countedConn struct {
	net.Conn
	in *deadlines
}

func (c *countedConn) SetWriteDeadline(at time.Time) error {
	c.in.moved.Add(1)
	return c.Conn.SetWriteDeadline(at)
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.in.writes.Add(1)
	return c.Conn.Write(p)
}

func TestAFrameMovesNoTimerOfItsOwn(t *testing.T) {
	var counted *deadlines
	h := startHub(t, hubOptions{
		timing: server.Timing{Write: time.Minute},
		listen: func(l net.Listener) net.Listener { counted = &deadlines{Listener: l}; return counted },
	})
	p := h.dial("/api/ws")
	p.send(&wire.Ping{Nonce: "first"})
	find[*wire.Pong](p, nil)
	moved, writes := counted.moved.Load(), counted.writes.Load()
	const pings = 200
	for range pings {
		p.send(&wire.Ping{Nonce: "again"})
		find[*wire.Pong](p, nil)
	}
	require.GreaterOrEqual(t, counted.writes.Load()-writes, int64(pings))
	require.LessOrEqual(t, counted.moved.Load()-moved, int64(1), "a deadline of a minute is set again only after half a minute")
}
