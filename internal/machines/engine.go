package machines

import (
	"errors"
	"fmt"
	"net"
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
	// pingEvery and mostPings find a connection that is dead: two unanswered pings.
	pingEvery = 2 * time.Second
	mostPings = 2
	// writeBound is how long a connection may take to take a message.
	writeBound = 5 * time.Second
	// startBound is how long the engine may take to start.
	startBound = 10 * time.Second
)

// engine is the server inside this process through which machines and home talk. It
// listens on no port and keeps nothing.
type engine struct {
	server *server.Server
	own    string // home's own password

	mu      sync.Mutex
	tickets map[string]string // the machine's id by ticket
}

func startEngine() (*engine, error) {
	own, _ := newSecret()
	e := &engine{own: own, tickets: map[string]string{}}
	var err error
	e.server, err = server.NewServer(&server.Options{
		ServerName: "home", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
		MaxPayload: mostMessage, MaxPending: 16 << 20, MaxSubs: 64, WriteDeadline: writeBound,
		PingInterval: pingEvery, MaxPingsOut: mostPings,
		CustomClientAuthentication: e,
	})
	if err != nil {
		return nil, fmt.Errorf("start the engine for machines: %w", err)
	}
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

// ticket makes a password for one connection of a machine.
func (e *engine) ticket(id string) string {
	ticket, _ := newSecret()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tickets[ticket] = id
	return ticket
}

// void ends a ticket that was not used.
func (e *engine) void(ticket string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tickets, ticket)
}

// Check implements server.Authentication: home has its password, a machine a ticket, which
// is good once.
func (e *engine) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Username == "home" && o.Password == e.own {
		c.RegisterUser(&server.User{Username: "home"})
		return true
	}
	e.mu.Lock()
	id, good := e.tickets[o.Password]
	delete(e.tickets, o.Password)
	e.mu.Unlock()
	if !good || id != o.Username {
		return false
	}
	own := &server.SubjectPermission{Allow: []string{below(id, ">")}}
	c.RegisterUser(&server.User{Username: id, Permissions: &server.Permissions{Publish: own, Subscribe: own}})
	return true
}

// connect is a connection of home to the engine for one machine.
func (e *engine) connect(id string, o ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{
		nats.InProcessServer(e.server), nats.UserInfo("home", e.own), nats.NoReconnect(),
		nats.CustomInboxPrefix(below(id, "home")), nats.PingInterval(time.Minute),
	}, o...)...)
}

// accept gives a machine's bytes to the engine.
func (e *engine) accept() (net.Conn, error) { return e.server.InProcessConn() }

// below is a subject of a machine.
func below(id, name string) string { return "m." + id + "." + name }
