package server

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// health is the hub's health. A response also means that the credential is valid.
type health struct {
	Status   string    `json:"status"`
	Protocol int       `json:"protocol"`
	Version  string    `json:"version"`
	HubID    string    `json:"hub_id"`
	Scope    string    `json:"scope"`
	Time     time.Time `json:"time"`
	UptimeMS int64     `json:"uptime_ms"`
	// Clients counts open sockets and event streams.
	Clients int `json:"clients"`
	// IgnoredMessages counts messages of types this hub does not know.
	IgnoredMessages int64 `json:"ignored_messages"`
	// Notifications counts the notifications since the hub started.
	Notifications notify.Counts `json:"notifications"`
	// Interruptions counts interrupted turns since the hub started.
	Interruptions session.ResumeCounts `json:"interruptions"`
	// Sessions are those with a problem that the credential may read, newest first.
	Sessions []sessionProblem `json:"sessions"`
}

// sessionProblem is the problem of one session.
type sessionProblem struct {
	SessionID string              `json:"session_id"`
	Kind      session.ProblemKind `json:"kind"`
	// The problem (What) and its remedy (Do).
	What string `json:"what"`
	Do   string `json:"do"`
}

func healthRoute(s *Server, c *call) error {
	problems := []sessionProblem{}
	for _, t := range s.manager.Problems() {
		if c.grant.May(auth.Read, t.SessionID) {
			problems = append(problems, sessionProblem{t.SessionID, t.Kind, t.What, t.Do})
		}
	}
	return c.reply(http.StatusOK, health{
		Status: "ok", Protocol: wire.Version, Version: s.version, HubID: s.hubID,
		Scope: string(c.grant.Scope), Time: time.Now().UTC(), UptimeMS: time.Since(s.started).Milliseconds(),
		Clients: s.clients.count(), IgnoredMessages: s.ignored.Load(), Notifications: s.notify.Counts(), Sessions: problems,
		Interruptions: s.manager.ResumeCounts(),
	})
}

// readiness only says that the hub responds.
type readiness struct {
	Ready bool `json:"ready"`
}

func readyRoute(s *Server, c *call) error {
	if s.draining.Load() {
		return c.reply(http.StatusServiceUnavailable, readiness{})
	}
	return c.reply(http.StatusOK, readiness{Ready: true})
}
