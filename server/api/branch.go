package api

import (
	"context"
	"net/http"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/branch"
)

// branchRows are the routes of this file.
func branchRows() section {
	key := []param{{"Idempotency-Key", "The same request again does nothing, and gets the first one's answer.", ""}}
	return section{
		title: "The session's branch",
		about: []string{
			"The hub runs no hook, filter or other program of the repository. It pushes with the owner's git and makes a pull request with the owner's `gh` or `glab`. A file that a filter, an encoding or `core.autocrlf` would change is 409, and the message names which. An act that needs a confirmation is 409 with `needs`; the message names the files. The session's log gets a note, `abide/branch`, before the branch moves, and one with the outcome. An act goes on if its client goes away; a push takes ten minutes at most, and a push and a pull request end with the hub.",
			"Where `projects.FOLDER.git.pull_requests` names `gh` or `glab`, `pull-request` makes the pull request by that program, as the owner would by hand and in three minutes at most, and answers its address. Else it answers a page, and nothing is sent.",
			"A collaborator may commit and update where `projects.FOLDER.git.collaborators` is on; the rest takes access to manage the session.",
		},
		rows: []route{
			{
				"GET", one + "/branch", auth.Credential, auth.Act, false, branchRoute,
				doc{
					summary: "Where the session's branch stands beside its base, and what may be done. Git runs once in three seconds for it, twice as rarely while commits are added. Files keeps the list of changes; here they are counted.",
					out:     wire.Branch{}, status: 200,
				},
			},
			{
				"POST", one + "/branch/commit", auth.Credential, auth.Act, false, with(commitRoute),
				doc{
					summary: "Commit files as they are on disk, as `git commit -- FILE…` does. What else is staged stays staged.",
					headers: key, in: wire.CommitBranch{}, out: wire.BranchAct{}, status: 200,
				},
			},
			{
				"POST", one + "/branch/update", auth.Credential, auth.Act, false, with(updateBranchRoute),
				doc{
					summary: "Merge the base into the session's branch, or rebase the branch on it. 409 names the files that conflict, or that are not as the commit has them; nothing was changed then.",
					headers: key, in: wire.UpdateBranch{}, out: wire.BranchAct{}, status: 200,
				},
			},
			{
				"POST", one + "/branch/merge", auth.Credential, auth.Manage, false, with(mergeBranchRoute),
				doc{
					summary: "Merge the session's branch into its base, which is checked out nowhere, or where the files that change are as the commit has them. 409 names those that are not, or that conflict; nothing was changed then.",
					headers: key, in: wire.MergeBranch{}, out: wire.BranchAct{}, status: 200,
				},
			},
			{
				"POST", one + "/branch/push", auth.Credential, auth.Manage, false, with(pushBranchRoute),
				doc{
					summary: "Push the session's branch to the remote's branch of the same name, as the owner would by hand, where `projects.FOLDER.git.push` is on; else 409 with the command. Nothing is forced: 409 says what the remote says.",
					headers: key, in: wire.PushBranch{}, out: wire.BranchAct{}, status: 200,
				},
			},
			{
				"POST", one + "/branch/pull-request", auth.Credential, auth.Manage, false, with(pullRequestRoute),
				doc{
					summary: "The page of the remote's host that makes a pull request of the branch, filled in. GitHub, GitLab, Gitea, Forgejo and Bitbucket by their names; another host by `projects.FOLDER.git.forge`, else 409. With `projects.FOLDER.git.pull_requests` it makes one (`made`).",
					headers: key, in: wire.MakePullRequest{}, out: wire.PullRequestPage{}, status: 200,
				},
			},
			{
				"POST", one + "/branch/discard", auth.Credential, auth.Manage, false, with(discardBranchRoute),
				doc{
					summary: "Remove the session's own working copy with its branch, and end the sessions that use it. 409 names what would be lost. The same again completes what a kill interrupted.",
					in:      wire.DiscardBranch{}, status: 204,
				},
			},
		},
	}
}

// branchRoute answers with the state of the session's branch.
func branchRoute(s *API, c *call) error {
	root, err := c.workspace()
	if err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), gitBound)
	defer cancel()
	base, from := "", ""
	worktree := own.Info().Worktree
	if worktree != nil {
		base, from = worktree.Base, worktree.Commit
	}
	merges, err := own.Merges(ctx)
	if err != nil {
		return err
	}
	var made []workspace.Merge
	for _, m := range merges {
		made = append(made, workspace.Merge{Base: m.Branch, After: m.After, Tip: m.Tip})
	}
	found, err := s.files.Branch(ctx, root, base, from, made...)
	if err != nil {
		return err
	}
	git := s.manager.GitSettings(own)
	if git.Sign && found.Signing != "" {
		found.Signing = "signed"
	}
	if found.Push != nil {
		to := *found.Push // what was found is kept for others
		to.Allowed = git.Push
		if git.Push {
			to.PullRequests = git.PullRequests
		}
		found.Push = &to
	}
	found.Worktree, found.Acts = worktree, c.branchActs(own)
	if found.Draft, err = own.Draft(ctx); err != nil {
		return err
	}
	return c.reply(http.StatusOK, found)
}

// branchActs lists what the caller may do on the session's branch.
func (c *call) branchActs(own *session.BackgroundSession) []string {
	acts := []string{}
	for _, act := range []string{branch.Commit, branch.Update, branch.Merge, branch.Push} {
		if c.mayAct(own, act) {
			acts = append(acts, act)
		}
	}
	return acts
}

func (c *call) mayAct(own *session.BackgroundSession, act string) bool {
	if c.grant.May(auth.Manage, own.ID()) {
		return act != branch.Push || c.server.manager.GitSettings(own).Push
	}
	return (act == branch.Commit || act == branch.Update) && c.grant.May(auth.Act, own.ID()) && c.server.manager.GitSettings(own).Collaborators
}

func commitRoute(_ *API, c *call, in wire.CommitBranch) error {
	return c.actOnBranch(branch.Request{Act: branch.Commit, Files: in.Files, Message: in.Message, Confirm: in.Confirm})
}

func updateBranchRoute(_ *API, c *call, in wire.UpdateBranch) error {
	return c.actOnBranch(branch.Request{Act: branch.Update, Method: in.Method, Confirm: in.Confirm})
}

func mergeBranchRoute(_ *API, c *call, in wire.MergeBranch) error {
	return c.actOnBranch(branch.Request{Act: branch.Merge, Method: in.Method, Message: in.Message, Confirm: in.Confirm})
}

func pushBranchRoute(_ *API, c *call, in wire.PushBranch) error {
	return c.actOnBranch(branch.Request{Act: branch.Push, Confirm: in.Confirm})
}

func pullRequestRoute(s *API, c *call, in wire.MakePullRequest) error {
	if _, err := c.workspace(); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	page, made, err := s.manager.PullRequest(c.r.Context(), own.ID(), branch.Request{
		Message: in.Message, Confirm: in.Confirm, Key: c.r.Header.Get("Idempotency-Key"), Actor: c.grant.By(),
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.PullRequestPage{URL: page, Made: made})
}

func discardBranchRoute(s *API, c *call, in wire.DiscardBranch) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := s.manager.DiscardCopy(c.r.Context(), own.ID(), in.Confirm, c.grant.By()); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.WorktreeRemoved, SessionID: own.ID(), Detail: own.Info().Worktree.Folder})
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// actOnBranch does one act for the caller.
func (c *call) actOnBranch(r branch.Request) error {
	if _, err := c.workspace(); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if r.Act != branch.Push && !c.mayAct(own, r.Act) { // the gate has looked at a push
		return Forbidden()
	}
	r.Key, r.Actor = c.r.Header.Get("Idempotency-Key"), c.grant.By()
	act, err := c.server.manager.ActOnBranch(c.r.Context(), own.ID(), r)
	c.server.files.LookAgain(own.Info().Workspace) // what was known led to a refusal, or is over
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.BranchAct{Act: act.Act, Branch: act.Branch, Before: act.Before, After: act.After, From: act.From, Remote: act.Remote, Files: act.Files})
}
