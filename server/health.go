package server

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// health is how the hub is. That it was answered says that the credential is
// good.
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
}

func healthRoute(s *Server, c *call) error {
	return c.reply(http.StatusOK, health{
		Status: "ok", Protocol: wire.Version, Version: s.version, HubID: s.hubID,
		Scope: string(c.grant.Scope), Time: time.Now().UTC(), UptimeMS: time.Since(s.started).Milliseconds(),
		Clients: s.clients.count(), IgnoredMessages: s.ignored.Load(),
	})
}

// readiness says no more than that the hub answers.
type readiness struct {
	Ready bool `json:"ready"`
}

func readyRoute(s *Server, c *call) error {
	if s.draining.Load() {
		return c.reply(http.StatusServiceUnavailable, readiness{})
	}
	return c.reply(http.StatusOK, readiness{Ready: true})
}
