package api

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

func healthRoute(s *API, c *call) error {
	problems := []wire.SessionProblem{}
	for _, t := range s.manager.Problems() {
		if c.grant.May(auth.Read, t.SessionID) {
			problems = append(problems, wire.SessionProblem{SessionID: t.SessionID, Kind: wire.ProblemKind(t.Kind), What: t.What, Do: t.Do})
		}
	}
	return c.reply(http.StatusOK, wire.Health{
		Status: "ok", Protocol: wire.Version, Version: s.version, HubID: s.hubID,
		Scope: string(c.grant.Scope), Time: time.Now().UTC(), UptimeMS: time.Since(s.started).Milliseconds(),
		Clients: s.live.Clients(), IgnoredMessages: s.live.Ignored(), Notifications: s.notify.Counts(), Sessions: problems,
		Interruptions: wire.ResumeCounts(s.manager.ResumeCounts()),
	})
}

func readyRoute(s *API, c *call) error {
	if s.live.Draining() {
		return c.reply(http.StatusServiceUnavailable, wire.Ready{})
	}
	return c.reply(http.StatusOK, wire.Ready{Ready: true})
}
