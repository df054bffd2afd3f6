package api

import (
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// trashRows are the routes of this file.
func trashRows() section {
	return section{
		title: "Trash",
		about: []string{
			"A deleted session lies in the trash for `days` (`storage.trash_days`), whole, with its files. Its turn and its queue were paused, so nothing continues by itself after a restore. A working copy stays where it is. While it is in the trash no request finds the session, and the list, the search and the statistics leave it out.",
		},
		rows: []route{
			{
				"GET", "/api/trash", auth.Credential, auth.Manage, false, trashRoute,
				doc{summary: "The deleted sessions that can be restored.", out: wire.Trash{}, status: 200},
			},
			{
				"POST", "/api/trash/{id}/restore", auth.Credential, auth.Manage, false, restoreRoute,
				doc{summary: "Bring a deleted session back, as it was. 409 if a session has its id.", out: wire.SessionInfo{}, status: 200},
			},
			{
				"DELETE", "/api/trash/{id}", auth.Credential, auth.Manage, false, purgeRoute,
				doc{summary: "Remove a deleted session for good.", status: 204},
			},
		},
	}
}

func trashRoute(s *API, c *call) error {
	all, err := s.manager.Trashed()
	if err != nil {
		return err
	}
	answer := wire.Trash{Sessions: []wire.TrashedSession{}, Days: s.TrashDays()}
	for _, one := range all {
		answer.Bytes += one.Bytes
		answer.Sessions = append(answer.Sessions, wire.TrashedSession{
			SessionID: one.SessionID, Name: one.Name, Agent: one.Agent, Workspace: one.Workspace, ProjectRoot: one.ProjectRoot,
			LastLine: one.LastLine, EventCount: one.EventCount, CreatedAt: one.CreatedAt, UpdatedAt: one.UpdatedAt,
			DeletedAt: one.At, RemovedAt: one.Until, Bytes: one.Bytes,
		})
	}
	return c.reply(http.StatusOK, answer)
}

// TrashDays is for how many days a deleted session can be restored.
func (s *API) TrashDays() int { return int(s.manager.Settings().TrashFor / (24 * time.Hour)) }

func restoreRoute(s *API, c *call) error {
	if err := s.manager.Restore(c.r.Context(), c.id(), c.grant.By()); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.SessionRestored, SessionID: c.id()})
	return inSession(sessionRoute)(s, c)
}

func purgeRoute(s *API, c *call) error {
	if err := s.manager.Purge(c.r.Context(), c.id()); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.SessionDeleted, SessionID: c.id(), Detail: "from the trash"})
	return c.done(nil)
}
