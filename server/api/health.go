package api

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// healthRows are the routes of this file.
func healthRows() section {
	return section{
		title: "Health",
		about: []string{
			"A session that cannot be opened answers 503 `unavailable`, on a socket an `error`, and tries again at each request.",
		},
		rows: []route{
			{
				"GET", "/api/ready", auth.OwnHost, auth.Read, false, readyRoute,
				doc{summary: "Whether the hub is ready. Needs no credential.", out: wire.Ready{}, status: 200},
			},
			{
				"GET", "/api/health", auth.Credential, auth.Read, true, healthRoute,
				doc{summary: "How the hub is, and whether the credential is good: what a client asks after a dial that failed. Lists the sessions with which something is wrong.", out: wire.Health{}, status: 200},
			},
		},
	}
}

func healthRoute(s *API, c *call) error {
	problems := []wire.SessionProblem{}
	for _, t := range s.manager.Problems() {
		if c.grant.May(auth.Read, t.SessionID) {
			problems = append(problems, wire.SessionProblem{SessionID: t.SessionID, Kind: wire.ProblemKind(t.Kind), What: t.What, Do: t.Do})
		}
	}
	answer := wire.Health{
		Status: "ok", Protocol: wire.Version, Version: s.version, HubID: s.hubID,
		Scope: string(c.grant.Scope), Time: time.Now().UTC(), UptimeMS: time.Since(s.started).Milliseconds(),
		Limits:   s.live.Limits(c.grant),
		Sessions: problems,
	}
	if c.grant.May(auth.Manage, "") {
		clients, ignored := s.live.Clients(), s.live.Ignored()
		notified, resumes := s.notify.Counts(), wire.ResumeCounts(s.manager.ResumeCounts())
		answer.Schedules = s.schedules.Problem()
		answer.Storage, answer.Budgets = s.manager.SpaceWarning(), s.manager.BudgetWarnings()
		answer.Snapshots = s.manager.SnapshotProblem()
		if p := s.manager.IndexProgress(); p != nil {
			answer.Index = &wire.IndexProgress{Sessions: p.Sessions, Behind: p.Behind, Problem: p.Problem, Again: p.Again}
		}
		for _, lag := range s.manager.Derived() {
			answer.Derived = append(answer.Derived, wire.Derived(lag))
		}
		answer.Clients, answer.IgnoredMessages, answer.Notifications, answer.Interruptions = &clients, &ignored, &notified, &resumes
	}
	return c.reply(http.StatusOK, answer)
}

func readyRoute(s *API, c *call) error {
	if s.live.Draining() {
		return c.reply(http.StatusServiceUnavailable, wire.Ready{})
	}
	return c.reply(http.StatusOK, wire.Ready{Ready: true})
}
