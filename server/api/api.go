// Package api holds the hub's HTTP routes. Each row has its gate, its verb, its
// bodies and its documentation; openapi.json is generated from the rows.
//
// A request is first authorised by package auth, then goes directly to package
// session. Sockets, event streams and the files of the app belong to package server,
// which the API asks for them.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/internal/schedule"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/running"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// Live is what the API needs of the server that it runs in: its clients and the app.
type Live interface {
	// Begin counts a request with a valid credential, until done is called. It may
	// be called again. An error means that too many are under way.
	Begin(r *http.Request, g auth.Grant) (done func(), err error)
	// Watch returns a session whose events can be read: this hub's, or a machine's.
	Watch(ctx context.Context, id string) (Watched, error)
	// Upgrade turns a request into a socket. If own is not nil, the socket follows
	// that session at once.
	Upgrade(w http.ResponseWriter, r *http.Request, g auth.Grant, own Watched, from backlog.Place) error
	// Stream sends a session's events until the client disconnects, in a form.
	Stream(w http.ResponseWriter, r *http.Request, g Given, own Watched, from backlog.Place, form Form) error
	// Carry upgrades a machine's request to the socket of its connection, and carries that
	// until it ends. It drops the connection if it cannot.
	Carry(w http.ResponseWriter, r *http.Request, connection *machines.Connection) error
	// App responds with a file of the app.
	App(w http.ResponseWriter, r *http.Request) error
	// Limits returns what a client with the grant may send and ask for at most.
	Limits(g auth.Grant) wire.Limits
	// Clients counts open sockets and event streams. Ignored counts messages of
	// unknown types.
	Clients() int
	Ignored() int64
	// Draining reports whether the hub admits no new clients.
	Draining() bool
}

// Form makes a message of an event, with its name; no data leaves the event out. Nil sends
// the events as they are, after an events_loaded.
type Form func(e event.Event) (name string, data []byte)

// Parts are the parts of an API. Only Folders and Agents may be nil.
type Parts struct {
	Manager   *session.Manager
	Jobs      *jobs.Runner
	Schedules *schedule.Schedules
	Registry  *auth.Registry
	Door      *auth.Door
	Audit     *audit.Trail
	Notify    *notify.Notifier
	Files     *workspace.Files
	Folders   Folders
	Agents    AgentSetup
	HubID     string
	Version   string
	Logger    *slog.Logger
	// Request limits the time to read a request's body, and to write its response.
	Request time.Duration
	Live    Live
	// Machines are those that joined this hub, Member is this hub as a machine of another.
	Machines *machines.Home
	Member   *machines.Member
}

// API serves the routes. Create it with New.
type API struct {
	// Set at construction.
	manager   *session.Manager
	jobs      *jobs.Runner
	schedules *schedule.Schedules
	registry  *auth.Registry
	door      *auth.Door
	audit     *audit.Trail
	notify    *notify.Notifier
	files     *workspace.Files
	folders   Folders
	agents    AgentSetup
	hubID     string
	version   string
	logger    *slog.Logger
	request   time.Duration
	live      Live
	machines  *machines.Home
	member    *machines.Member
	previews  previews
	counting  chan struct{} // holds a value while the events of a copy are counted
	started   time.Time
	handler   http.Handler

	refusals refusalBound
	running  running.Set
	costly   [costs]running.Costly
}

// Folders allows folders for sessions. Its errors are those of package session.
type Folders interface {
	// Fit returns a folder with its links resolved, if it may be allowed.
	Fit(folder string) (string, error)
	// Shown is a path for people.
	Shown(path string) string
	// Allow writes a folder into the configuration, applies that and returns the
	// folder with its links resolved.
	Allow(folder string) (string, error)
}

// AgentSetup finds agents and adds them to the configuration. Its errors are those of
// package session.
type AgentSetup interface {
	// List lists the agents that there are, and those that could be added.
	List() (wire.AgentSetup, error)
	// Add starts a known agent once, unless told otherwise, and writes it into the
	// configuration if it works.
	Add(ctx context.Context, agent wire.NewAgent) (wire.AddedAgent, error)
	// Check starts a configured agent once.
	Check(ctx context.Context, name, prompt string) (wire.AgentCheck, error)
	// LogIn begins a login by one of the agent's methods. A login by a request to the
	// agent has ended when it returns. A command that goes on ends with the context that
	// until makes of its own.
	LogIn(ctx context.Context, name string, in wire.Login, until func(context.Context) context.Context) (wire.AgentLogin, error)
	// Login waits until a login's output differs from that of size seen, or it has ended,
	// or ctx ends.
	Login(ctx context.Context, name string, seen int) (wire.AgentLogin, error)
	// TypeLogin gives a login a line of input, EndLogin ends it.
	TypeLogin(ctx context.Context, name, line string) error
	EndLogin(name string) error
	// LogOut asks an agent to log out.
	LogOut(ctx context.Context, name string) error
}
