package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/abidehub/abide/session/state"
)

// link is home's side of a machine's connection.
type link struct {
	home *Home
	id   string
	run  string // names the machine's process
	conn *nats.Conn
	ctx  context.Context // ends with the connection
	end  context.CancelFunc
	over chan struct{} // closed when nothing of it runs any more

	calls calls

	said  atomic.Pointer[hello]
	since time.Time // when it said hello; set before said

	listing sync.Mutex // held while rows are taken
	anew    bool       // a list that began anew has not ended; guarded by listing

	cutting sync.Mutex
	cut     map[string]time.Time // when a session's copy was cut last over this connection
}

// met reports whether the machine said hello and was not refused.
func (l *link) met() bool { return l.said.Load() != nil }

// Connection is a machine's connection that was admitted.
type Connection struct {
	link *link
	// Ticket is the machine's password at the engine, good once.
	Ticket string
}

// Admit prepares a connection of a machine's process. Another connection of the same process
// ends: it is one that died unnoticed. One of another process is ErrConnected. Run carries it;
// a connection that is not run must be dropped.
func (h *Home) Admit(id, run string) (*Connection, error) {
	h.mu.Lock()
	old := h.links[id]
	h.mu.Unlock()
	if old != nil {
		if old.run != run {
			return nil, fmt.Errorf("%w: %w", state.ErrConflict, ErrConnected)
		}
		old.end()
		<-old.over
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	case h.record.machine(id) == nil:
		return nil, ErrUnknown
	case h.faults.barred(id) != nil:
		return nil, h.faults.barred(id)
	case h.links[id] != nil:
		return nil, fmt.Errorf("%w: %w", state.ErrConflict, ErrConnected)
	}
	if h.engine == nil {
		var err error
		if h.engine, err = startEngine(h.silence); err != nil {
			return nil, err
		}
	}
	l := &link{home: h, id: id, run: run, over: make(chan struct{}), calls: newCalls()}
	l.ctx, l.end = context.WithCancel(context.Background())
	var err error
	if l.conn, err = h.engine.connect(id, quiet(h.logger), nats.ClosedHandler(func(*nats.Conn) { l.end() })); err != nil {
		l.end()
		return nil, err
	}
	if err := l.listen(); err != nil {
		l.conn.Close()
		l.end()
		return nil, err
	}
	h.links[id] = l
	h.carried.Add(1)
	return &Connection{link: l, Ticket: h.engine.ticket(id, func(why string) { h.refuse(l, why) })}, nil
}

// listen subscribes to what the machine says unasked.
func (l *link) listen() error {
	for _, one := range []struct {
		subject string
		most    int // bytes of a message
		take    nats.MsgHandler
	}{{"hello", mostHello, l.takeHello}, {"rows", mostRowsMessage, l.takeRows}, {"leave", mostHello, l.takeLeave}, {"answer.*", mostAnswerPart, l.takeAnswer}} {
		_, err := l.conn.Subscribe(below(l.id, one.subject), func(m *nats.Msg) {
			switch {
			case len(m.Data) > one.most:
				l.home.refuse(l, "a message that is too large")
				l.calls.lose(lastWord(m.Subject))
			case m.Reply != "" && !strings.HasPrefix(m.Reply, below(l.id, "machine.")):
				l.home.refuse(l, "a message to be answered elsewhere")
			default:
				one.take(m)
			}
		})
		if err != nil {
			return err
		}
	}
	return l.conn.Flush()
}

const (
	// helloBound is how long a machine may take until it said what it is.
	helloBound = 30 * time.Second
	mostHello  = 4 << 10
	// mostRowsMessage and mostAnswerPart limit a message of rows, and one of an answer.
	mostRowsMessage = 1 << 20
	mostAnswerPart  = partBytes + 64<<10
	// mostVersion limits the version that a machine says, in bytes.
	mostVersion = 64
)

// Drop ends a connection that Run was not called for.
func (c *Connection) Drop() { c.close() }

// Run carries the connection's bytes between the machine and the engine until either ends
// it, ctx ends, or the machine is forgotten.
func (c *Connection) Run(ctx context.Context, conn net.Conn) {
	defer c.close()
	l := c.link
	stop := context.AfterFunc(ctx, l.end)
	defer stop()
	silent := time.AfterFunc(helloBound, func() {
		if !l.met() {
			l.end()
		}
	})
	defer silent.Stop()
	inside, err := l.home.engineNow().accept()
	if err != nil {
		conn.Close()
		return
	}
	var copies sync.WaitGroup
	for _, way := range []struct{ to, from net.Conn }{{inside, conn}, {conn, inside}} {
		copies.Go(func() {
			defer l.end()
			_, _ = io.Copy(way.to, way.from)
		})
	}
	<-l.ctx.Done()
	inside.Close()
	conn.Close()
	copies.Wait()
}

func (h *Home) engineNow() *engine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.engine
}

// close ends the link and takes it out of the list.
func (c *Connection) close() {
	l, h := c.link, c.link.home
	h.engineNow().void(c.Ticket, l.id)
	l.end()
	l.conn.Close()
	l.calls.fail()
	l.listing.Lock() // what it said last is taken, and no more will be
	met := l.met()
	l.listing.Unlock()
	if met { // before it is seen away: since when is told from then on, and after a restart
		h.left(l.id)
	}
	h.mu.Lock()
	delete(h.links, l.id)
	h.mu.Unlock()
	if met {
		h.rows.touch(l.id)
		h.logger.Info("a machine is away", "machine", l.id)
	}
	close(l.over)
	h.carried.Done()
	h.bell.Ring()
}

// left writes down until when a machine was connected.
func (h *Home) left(id string) {
	err := h.change(func(r *record) error {
		if m := r.machine(id); m != nil {
			m.LastSeen = h.now().UTC()
		}
		return nil
	})
	if err != nil {
		h.logger.Error("when a machine left could not be written", "machine", id, "err", err)
	}
}

// takeHello learns what a machine says of itself, and answers.
func (l *link) takeHello(m *nats.Msg) {
	var said hello
	if _, err := parse(m.Data, &said); err != nil || said.Allow.Check() != nil || l.met() || len(said.Version) > mostVersion || words(said.Version) != said.Version {
		l.home.refuse(l, "a wrong hello")
		return
	}
	h := l.home
	answer := welcome{Protocol: protocol, Version: h.version}
	if said.Protocol != protocol {
		answer.Refused = fmt.Sprintf("home is abide %s and speaks version %d of the protocol between machines, this machine is abide %s and speaks version %d: update the older one", h.version, protocol, said.Version, said.Protocol)
	}
	clock := said.Time.Sub(h.now())
	h.faults.met(l.id, answer.Refused, clock)
	if answer.Refused != "" {
		data, _ := json.Marshal(answer)
		_ = m.Respond(data)
		h.bell.Ring()
		h.logger.Warn("a machine is not talked to", "machine", l.id, "why", answer.Refused)
		return
	}
	err := h.change(func(r *record) error {
		one := r.machine(l.id)
		if one == nil {
			return ErrUnknown
		}
		one.Allow, one.Version, one.LastSeen = said.Allow, said.Version, h.now().UTC()
		return nil
	})
	if errors.Is(err, ErrUnknown) {
		l.end()
		return
	} else if err != nil {
		h.logger.Error("a machine's connection could not be written", "machine", l.id, "err", err)
	}
	h.mu.Lock()
	l.since = h.now().UTC()
	l.said.Store(&said)
	h.mu.Unlock()
	data, _ := json.Marshal(answer)
	if m.Respond(data) != nil { // not before: rows may follow at once
		return
	}
	h.rows.touch(l.id)
	h.bell.Ring()
	h.logger.Info("a machine is connected", "machine", l.id, "allow", said.Allow, "version", said.Version)
	if clock.Abs() > clockSlack {
		h.logger.Warn("the clock of a machine differs from this one's", "machine", l.id, "by", clock.Round(time.Second))
	}
}

// takeLeave forgets the machine, which leaves.
func (l *link) takeLeave(m *nats.Msg) {
	h := l.home
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.carried.Add(1)
	}
	h.mu.Unlock()
	if closed {
		return
	}
	err := h.strike(l.id)
	if err != nil {
		h.carried.Done()
		h.logger.Error("that a machine leaves could not be written", "machine", l.id, "err", err)
		return // the machine is not answered
	}
	_ = m.Respond(nil)
	_ = l.conn.FlushTimeout(leaveBound)
	h.logger.Info("a machine left", "machine", l.id)
	go func() { // it waits for the connection's end
		defer h.carried.Done()
		h.clear(l.id)
	}()
}

// takeRows takes changed lines, and acknowledges them.
func (l *link) takeRows(m *nats.Msg) {
	l.listing.Lock()
	defer l.listing.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	var said rowsMessage
	_, err := parse(m.Data, &said)
	if err == nil && !l.met() {
		err = errors.New("rows before its hello")
	}
	var gone []string
	if err == nil {
		gone, err = l.home.rows.take(l.id, said)
	}
	answer := rowsAnswer{Notifies: l.home.notifies()}
	if err != nil {
		l.home.refuse(l, err.Error())
		answer.Refused = words(err.Error())
	}
	data, _ := json.Marshal(answer)
	_ = m.Respond(data)
	if err != nil {
		return
	}
	if len(said.Rows) > 0 || len(gone) > 0 {
		l.home.kept.change(l.id)
	}
	l.home.copies.rung(l.id, said.Rows, gone)
	l.anew = l.anew || said.First
	if l.anew && !said.More {
		l.anew = false
		l.home.copies.prune(l.id)
	}
}
