// Package server is the hub's network interface: the listeners, the WebSocket and
// the event stream with which screens and scripts follow sessions, and the files of
// the app. Package api has the HTTP routes.
//
// A message is first authorised by package auth. Verbs of a session go directly to
// package session. A follower for each client pulls the session's events from
// its log. The server keeps nothing of a session that its log and its state do not
// have.
package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/internal/schedule"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/running"
	"github.com/abidehub/abide/session"
)

// Options are the parts of a Server.
type Options struct {
	Manager *session.Manager
	// Jobs runs jobs.
	Jobs *jobs.Runner
	// Schedules make jobs at due times.
	Schedules *schedule.Schedules
	Registry  *auth.Registry
	Door      *auth.Door
	// Audit records grants, answers, deletions and refusals; the zero Trail records
	// nothing.
	Audit *audit.Trail
	// Notify notifies people of sessions that need them.
	Notify *notify.Notifier
	// HubID and Version are sent to clients.
	HubID, Version string
	// App is the web app. Page is the file in it that is served for every address
	// of the app.
	App  fs.FS
	Page string
	// Files shows the files of workspaces; nil does so without git.
	Files *workspace.Files
	// Folders allows more folders for sessions; nil allows none.
	Folders api.Folders
	// Agents sets agents up; nil refuses that.
	Agents api.AgentSetup
	// Machines are the hubs that joined this one. Member is this hub as a machine of
	// another; its Run is the caller's.
	Machines *machines.Home
	Member   *machines.Member
	// Logger takes messages for an operator; nil discards it.
	Logger *slog.Logger
	Timing Timing
	Limits Limits
}

// Timing configures time limits. Zero fields take the default.
type Timing struct {
	// Heartbeat is the maximum silence on a socket: 10 s.
	Heartbeat time.Duration
	// Write is how long a client may take to read a frame, or a pong may take to
	// come: 10 s.
	Write time.Duration
	// Ping is how long a client may be silent before it gets a ping: 30 s.
	Ping time.Duration
	// Request limits the time to read a request's header (half of it), to read its
	// body, and to write its response: 20 s each.
	Request time.Duration
}

// Limits limit the resources of clients. Zero fields take the default.
type Limits struct {
	// Clients is the maximum of open sockets and event streams: 2000.
	Clients int
	// Connections is the maximum of open connections of any kind: 2 × Clients +
	// 512.
	Connections int
}

// Server serves one hub. Create it with New, run it with Serve.
type Server struct {
	// Set at construction.
	sessions sessions
	machines *machines.Home
	manager  *session.Manager // for what clients do
	registry *auth.Registry
	hubID    string
	version  string
	logger   *slog.Logger
	timing   Timing
	frames   *frameCache
	clients  *clientSet
	large    chan struct{} // holds a value for each large message being decoded
	app      *static
	api      *api.API

	ctx      context.Context // ends when the server closes
	cancel   context.CancelFunc
	draining atomic.Bool
	ignored  atomic.Int64 // messages of unknown types
}

// New returns a server for a hub that is ready. It starts no goroutine.
func New(o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Files == nil {
		o.Files = workspace.New(nil, nil)
	}
	o.Timing, o.Limits = o.Timing.withDefaults(), o.Limits.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		machines: o.Machines, sessions: &merged{managed: managed{o.Manager}, machines: o.Machines, copies: map[string]*copied{}}, manager: o.Manager, registry: o.Registry, hubID: o.HubID, version: o.Version,
		logger: o.Logger, timing: o.Timing, frames: newFrameCache(), clients: newClientSet(o.Limits),
		large: make(chan struct{}, largeAtOnce), ctx: ctx, cancel: cancel,
	}
	var err error
	if s.app, err = newStatic(o.App, o.Page, o.Timing.Request); err != nil {
		cancel()
		return nil, err
	}
	s.api = api.New(api.Parts{
		Manager: o.Manager, Jobs: o.Jobs, Schedules: o.Schedules, Registry: o.Registry, Door: o.Door, Audit: o.Audit, Notify: o.Notify, Files: o.Files, Folders: o.Folders, Agents: o.Agents,
		Machines: o.Machines, Member: o.Member,
		HubID: o.HubID, Version: o.Version, Logger: o.Logger, Request: o.Timing.Request, Live: live{s},
	})
	return s, nil
}

func (t Timing) withDefaults() Timing {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&t.Heartbeat, 10 * time.Second}, {&t.Write, 10 * time.Second}, {&t.Ping, 30 * time.Second}, {&t.Request, 20 * time.Second}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return t
}

func (l Limits) withDefaults() Limits {
	if l.Clients <= 0 {
		l.Clients = 2000
	}
	if l.Connections <= 0 {
		l.Connections = 2*l.Clients + 512
	}
	return l
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// net/http reads the rest of an unread body before it sends a refusal, and
		// waits for it forever unless the connection has a deadline. The
		// ResponseWriter of a test may not support deadlines.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.timing.Request))
	}
	s.api.ServeHTTP(w, r)
}

// ServeGiven serves a request that comes from within this program with its grant.
func (s *Server) ServeGiven(w http.ResponseWriter, r *http.Request, g api.Given) {
	s.api.ServeGiven(w, r, g)
}

// SetLimits changes the limits while the server runs. Open connections stay open.
func (s *Server) SetLimits(l Limits) { s.clients.setLimits(l.withDefaults()) }

// Serve serves the listeners until ctx ends. Then it says goodbye to the sockets,
// lets running requests finish, and returns nil. Serve may be called once. It
// closes the listeners.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.timing.Request / 2,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ConnState:         s.clients.connState,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
		ConnContext:       running.WithConn,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
	}
	failed := make(chan error, len(listeners))
	var wait sync.WaitGroup
	for _, l := range listeners {
		wait.Go(func() {
			if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving on %s: %w", l.Addr(), err)
			}
		})
	}
	wait.Go(s.watchGrants)
	wait.Go(s.watchClients)
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.drain(hs)
	wait.Wait()
	return err
}

// drainTime limits how long running requests may take to finish.
const drainTime = 3 * time.Second

// drain ends the open connections: it admits no new ones, tells sockets to
// reconnect later, and lets requests finish.
func (s *Server) drain(hs *http.Server) {
	s.draining.Store(true)
	s.clients.endAll(ending{
		code: goingAway, reason: "the hub is ending", goodbye: true, retryAfter: 500 * time.Millisecond,
	})
	bound, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := hs.Shutdown(bound); err != nil {
		hs.Close() // the listeners are closed; unfinished requests are aborted
	}
	s.cancel()
	s.clients.wait()
}

// watchGrants ends sockets, streams and requests without a valid grant: at once after a
// revocation, within a second of an expiry.
func (s *Server) watchGrants() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		changed := s.registry.Changed()
		s.clients.each(func(c *SessionWSClient) { c.regrant() })
		s.api.Regrant()
		select {
		case <-s.ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		}
	}
}
