package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// worktreeRows are the routes of this file.
func worktreeRows() section {
	return section{
		title: "Working copies",
		about: []string{
			"`POST /api/worktrees/remove` ends the sessions that use the copy, and writes a note into their logs. What would be lost is confirmed first: 409 with `needs`, and the names in the message. Its branch goes with it if all its commits are in its base or at the remote, and otherwise with `discard`. A copy with an open turn, or locked by `git worktree lock`, stays: 409.",
		},
		rows: []route{
			{
				"GET", "/api/worktrees", auth.Credential, auth.Manage, false, worktreesRoute,
				doc{summary: "The working copies that abide made, also those of no session.", out: wire.Worktrees{}, status: 200},
			},
			{
				"POST", "/api/worktrees/remove", auth.Credential, auth.Manage, false, with(worktreeRemoveRoute),
				doc{summary: "Remove a working copy.", in: wire.RemoveWorktree{}, status: 204},
			},
			{
				"POST", "/api/worktrees/prune", auth.Credential, auth.Manage, false, worktreePruneRoute,
				doc{summary: "Remove all working copies that are safe to remove. The answer has all that there were.", out: wire.Worktrees{}, status: 200},
			},
		},
	}
}

func worktreesRoute(s *API, c *call) error {
	all, err := s.manager.Worktrees(c.r.Context())
	if err != nil {
		return err
	}
	out := copiesOf(all, nil)
	for _, size := range s.manager.StatesSizes(c.r.Context()) {
		out.States = append(out.States, wire.StatesSize{SessionID: size.Session, States: size.States, Bytes: size.Bytes})
	}
	return c.reply(http.StatusOK, out)
}

func worktreeRemoveRoute(s *API, c *call, in wire.RemoveWorktree) error {
	err := s.manager.RemoveWorktree(c.r.Context(), session.WorktreeRemoval{Folder: in.Folder, Discard: in.Discard, Confirm: in.Confirm, Actor: c.grant.By()})
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.WorktreeRemoved, Detail: in.Folder})
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func worktreePruneRoute(s *API, c *call) error {
	all, removed, err := s.manager.PruneWorktrees(c.r.Context(), c.grant.By())
	for folder := range removed {
		c.note(audit.Record{Verb: audit.WorktreeRemoved, Detail: folder})
	}
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, copiesOf(all, removed))
}

func copiesOf(all []session.WorkingCopy, removed map[string]bool) wire.Worktrees {
	answer := wire.Worktrees{Worktrees: []wire.WorkingCopy{}, States: []wire.StatesSize{}}
	for _, c := range all {
		uses := []wire.CopyUse{}
		for _, u := range c.Sessions {
			uses = append(uses, wire.CopyUse{SessionID: u.SessionID, Name: u.Name, Over: u.Over, Trashed: u.Trashed})
		}
		answer.Worktrees = append(answer.Worktrees, wire.WorkingCopy{
			Folder: c.Folder, Repository: c.Repository, Branch: c.Branch, Base: c.Base, Sessions: uses,
			Unfinished: c.Unfinished, Gone: c.Gone, Bytes: c.Bytes, Partly: c.Partly,
			Uncommitted: c.Uncommitted, UncommittedNames: c.Names, Commits: c.Commits, Unknown: c.Unknown, Safe: c.Safe(), Removed: removed[c.Folder],
		})
	}
	return answer
}
