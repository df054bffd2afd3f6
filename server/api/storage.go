package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/space"
	"github.com/abidehub/abide/session/state"
)

// storageRows are the routes of this file.
func storageRows() section {
	return section{
		title: "Storage",
		about: []string{
			"The sizes of sessions are kept: a request measures only those in which something happened. The files for undo and the working copies are measured once an hour. A clean-up puts sessions into the trash. Without `session_ids` it leaves those that are running, damaged, to be resumed, pinned, commented, just restored, that have prompts in their queue, or whose working copy has changes that are nowhere else, and `stayed` counts them, also those in which something happens meanwhile. Without `older_than` and `lifecycles` it goes by `storage.clean`. An empty body, an empty list and `null` are refused. A working copy stays where it is. `storage.quota_mib` only warns.",
		},
		rows: []route{
			{
				"GET", "/api/storage", auth.Credential, auth.Manage, false, storageRoute,
				doc{summary: "What all sessions take.", query: []param{ofMachine}, out: wire.StorageReport{}, status: 200},
			},
			{
				"POST", "/api/storage/clean", auth.Credential, auth.Manage, false, with(cleanRoute),
				doc{summary: "Put old sessions into the trash, or list them with `dry_run`.", in: wire.CleanStorage{}, out: wire.CleanedStorage{}, status: 200},
			},
		},
	}
}

func storageRoute(s *API, c *call) error {
	r, err := s.manager.Storage(c.r.Context())
	if err != nil {
		return err
	}
	rule := s.manager.Settings().Space.Clean
	answer := wire.StorageReport{
		Sessions: r.Sessions, Active: r.Active, Resumable: r.Resumable, Unmeasured: r.Unmeasured,
		Bytes: wire.StoredBytes{
			Log: r.Bytes.Log, Blobs: r.Bytes.Blobs, Derived: r.Bytes.Derived, Other: r.Bytes.Other,
			States: r.States, Copies: r.Copies, Trash: r.TrashBytes,
		},
		Used: r.Used(), Average: r.Average, TrashSessions: r.Trash, Quota: r.Limit.Quota, WarnAt: r.Limit.WarnAt, Warning: r.Warning(),
		Weeks: []wire.StoredWeek{}, Largest: []wire.StoredSession{}, Projects: []wire.StoredProject{},
		Clean: wire.CleanRule{
			Enabled: rule.Enabled, Every: rule.Every.String(), OlderThan: rule.After.String(), Lifecycles: append([]state.Lifecycle{}, rule.Lifecycles...),
		},
	}
	if !r.Full.IsZero() {
		at := r.Full.UTC().Truncate(24 * time.Hour)
		answer.QuotaReached = &at
	}
	for _, w := range r.Weeks {
		answer.Weeks = append(answer.Weeks, wire.StoredWeek(w))
	}
	for _, one := range r.Largest {
		answer.Largest = append(answer.Largest, storedOf(one))
	}
	for _, p := range r.Projects {
		answer.Projects = append(answer.Projects, wire.StoredProject(p))
	}
	return c.reply(http.StatusOK, answer)
}

func storedOf(one space.Large) wire.StoredSession {
	return wire.StoredSession{
		SessionID: one.SessionID, Name: one.Name, Agent: one.Agent, Workspace: one.Workspace, ProjectRoot: one.ProjectRoot,
		Lifecycle: one.Lifecycle, UpdatedAt: one.UpdatedAt, Bytes: one.Total(), CopyBytes: one.Copy,
	}
}

func cleanRoute(s *API, c *call, in wire.CleanStorage) error {
	rule := s.manager.Settings().Space.Clean
	choice := space.Choice{OlderThan: rule.After, Lifecycles: rule.Lifecycles, Project: in.Project, IDs: in.SessionIDs}
	if in.SessionIDs != nil && len(in.SessionIDs) == 0 {
		return Invalid("session_ids is empty: name sessions, or leave it out")
	}
	if in.Lifecycles != nil {
		choice.Lifecycles = *in.Lifecycles
	}
	if in.OlderThan != nil {
		d, err := time.ParseDuration(*in.OlderThan)
		if err != nil {
			return state.About("older_than", fmt.Errorf("%w: older_than is a duration such as 720h", state.ErrInvalid))
		}
		choice.OlderThan = d
	}
	done, err := s.manager.Clean(c.r.Context(), choice, in.DryRun, c.grant.By())
	if !in.DryRun {
		for _, one := range done.Sessions { // also of one that stopped halfway
			c.note(audit.Record{Verb: audit.SessionDeleted, SessionID: one.SessionID, Detail: "by a clean-up"})
		}
	}
	if err != nil {
		return err
	}
	answer := wire.CleanedStorage{DryRun: in.DryRun, ForGood: done.ForGood, Sessions: []wire.StoredSession{}, Count: len(done.Sessions), Stayed: map[string]int{}}
	for _, one := range done.Sessions {
		answer.Bytes += one.Total()
		answer.Sessions = append(answer.Sessions, storedOf(one))
	}
	for why, n := range done.Stayed {
		answer.Stayed[string(why)] = n
	}
	return c.reply(http.StatusOK, answer)
}
