package machines

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// partBytes is the most bytes of a body, an answer or a log in one message.
	partBytes = 512 << 10
	// mostMessage is the largest message: a line of a log or a part, and a state with its queue.
	mostMessage = 4 << 20
	// pingEvery and mostPings find a connection that is dead: two unanswered pings. The engine
	// notices it after at most four times pingEvery, which is within 5 s.
	pingEvery = 1200 * time.Millisecond
	mostPings = 2
	// writeBound is how long a connection may take to take a message.
	writeBound = 5 * time.Second
	// startBound is how long the engine may take to start, and either side to its first words there.
	startBound = 5 * time.Second
)

// engine is the server inside this process through which machines and home talk. It
// listens on no port and keeps nothing.
type engine struct {
	server *server.Server
	own    string // home's own password

	mu      sync.Mutex
	tickets map[string]ticket
	users   map[server.ClientAuthentication]ticket // by the engine's client, once it was let in
}

// ticket is what a password that is good once stands for.
type ticket struct {
	id     string
	refuse func(why string) // the machine did what it may not
}

func startEngine(silence time.Duration) (*engine, error) {
	own, _ := newSecret()
	e := &engine{own: own, tickets: map[string]ticket{}, users: map[server.ClientAuthentication]ticket{}}
	var err error
	e.server, err = server.NewServer(&server.Options{
		ServerName: "home", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true, NoHeaderSupport: true,
		MaxPayload: mostMessage, MaxPending: 16 << 20, MaxSubs: 64, WriteDeadline: max(writeBound, silence),
		AuthTimeout: max(startBound, silence).Seconds(), PingInterval: max(pingEvery, silence/4), MaxPingsOut: mostPings,
		CustomClientAuthentication: e,
	})
	if err != nil {
		return nil, fmt.Errorf("start the engine for machines: %w", err)
	}
	e.server.SetLogger(violations{e}, false, false)
	e.server.Start()
	if !e.server.ReadyForConnections(startBound) {
		e.close()
		return nil, errors.New("start the engine for machines: it is not ready in time")
	}
	return e, nil
}

func (e *engine) close() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// ticket makes a password for one connection of a machine. refuse must not wait for the engine.
func (e *engine) ticket(id string, refuse func(why string)) string {
	password, _ := newSecret()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tickets[password] = ticket{id, refuse}
	return password
}

// void ends what a ticket was for.
func (e *engine) void(password, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tickets, password)
	maps.DeleteFunc(e.users, func(_ server.ClientAuthentication, t ticket) bool { return t.id == id })
}

// Check implements server.Authentication: home has its password, a machine a ticket, which
// is good once. Either end of a machine's link may use that machine's subjects only: home
// answers to the subject that a message names.
func (e *engine) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	id, ofHome := strings.CutPrefix(o.Username, "home.")
	if ofHome = ofHome && o.Password == e.own; !ofHome {
		e.mu.Lock()
		spent, good := e.tickets[o.Password]
		delete(e.tickets, o.Password)
		if good = good && spent.id == o.Username; good {
			e.users[c] = spent
		}
		e.mu.Unlock()
		if !good {
			return false
		}
		id = spent.id
	}
	own := &server.SubjectPermission{Allow: []string{below(id, ">")}}
	c.RegisterUser(&server.User{Username: o.Username, Permissions: &server.Permissions{Publish: own, Subscribe: own}})
	return true
}

// connect is a connection of home to the engine for one machine.
func (e *engine) connect(id string, o ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{
		nats.InProcessServer(e.server), nats.UserInfo("home."+id, e.own), nats.NoReconnect(),
		nats.CustomInboxPrefix(below(id, "home")), nats.PingInterval(time.Minute),
	}, o...)...)
}

// quiet logs what the engine's client would print: a connection that ends in the middle of a
// message, which is usual.
func quiet(logger *slog.Logger) nats.Option {
	return nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		logger.Debug("between machines", "err", err)
	})
}

// violations is the engine's logger. The engine says there, and nowhere else, that a client
// did what it may not; it refuses that by itself.
type violations struct{ engine *engine }

// Errorf implements server.Logger. The format is "pipe - cid:7 - NAME - WORDS".
func (v violations) Errorf(format string, words ...any) {
	_, rest, _ := strings.Cut(format, "cid:")
	number, _, _ := strings.Cut(rest, " ")
	cid, err := strconv.ParseUint(number, 10, 64)
	if err != nil || !strings.Contains(format, " Violation - ") && !strings.Contains(format, server.ErrTooManySubs.Error()) && !tooLarge(words) {
		return
	}
	client := v.engine.server.GetClient(cid)
	if client == nil {
		return
	}
	v.engine.mu.Lock()
	user, known := v.engine.users[client]
	v.engine.mu.Unlock()
	if !known {
		return
	}
	if tooLarge(words) {
		user.refuse("a message that is too large")
		return
	}
	user.refuse("what is not its own at the engine")
}

// tooLarge reports whether an error, "%s: %d vs %d", is about a message's size.
func tooLarge(words []any) bool { return len(words) == 3 && words[0] == server.ErrMaxPayload.Error() }

func (violations) Noticef(string, ...any) {}
func (violations) Warnf(string, ...any)   {}
func (violations) Fatalf(string, ...any)  {}
func (violations) Debugf(string, ...any)  {}
func (violations) Tracef(string, ...any)  {}

// accept gives a machine's bytes to the engine.
func (e *engine) accept() (net.Conn, error) { return e.server.InProcessConn() }

// below is a subject of a machine.
func below(id, name string) string { return "m." + id + "." + name }
