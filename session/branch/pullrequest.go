package branch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/abidehub/abide/internal/forge"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/state"
)

// PullRequest returns the page of the remote's host that makes a pull request of the
// branch, filled in with a message. Nothing is sent. It is *resume.NeedsConfirmation while
// the remote does not have the branch as it is here.
func (m Maker) PullRequest(ctx context.Context, p Place, message string, confirm []string) (string, error) {
	repository, err := m.repository(p.Workspace)
	if err != nil {
		return "", err
	}
	page, err := m.page(ctx, repository, p, message, confirm)
	return page, m.sentence(err)
}

// between finds what a pull request is of: the branch with its remote, and the base.
func (m Maker) between(ctx context.Context, r *gitstate.Repository, p Place) (to gitstate.Upstream, base gitstate.Base, err error) {
	to, err = m.Git.Upstream(ctx, r)
	switch {
	case err != nil:
		return to, base, err
	case to.Branch == "":
		return to, base, gitstate.ErrDetached
	case to.Remote == "":
		return to, base, fmt.Errorf("%w: the repository has no remote: git remote add origin ADDRESS", gitstate.ErrNothing)
	}
	if base, err = r.BaseOf(to.Branch, p.Base); err != nil {
		return to, base, err
	}
	if base.Branch == "" && (to.Branch == "main" || to.Branch == "master") {
		return to, base, fmt.Errorf("%w: %s is the main branch: a pull request takes another, git switch -c NAME makes one", gitstate.ErrNothing, to.Branch)
	}
	return to, base, nil
}

// titled takes a message apart into a title and a text.
func titled(message string) (title, body string) {
	title, body, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSpace(title), strings.TrimSpace(body)
}

func (m Maker) page(ctx context.Context, r *gitstate.Repository, p Place, message string, confirm []string) (string, error) {
	to, base, err := m.between(ctx, r, p)
	if err != nil {
		return "", err
	}
	title, body := titled(message)
	page := forge.PullRequest{Remote: to.Address(), Kind: p.Forge, Branch: to.Branch, Base: base.Branch, Title: title, Body: body}.Page()
	if page == "" {
		return "", fmt.Errorf("%w: the host of %s (%s) is not known: name its kind, projects.FOLDER.git.forge: %s; or make the pull request there by hand",
			state.ErrConflict, to.Remote, to.Address(), strings.Join(forge.Kinds(), ", "))
	}
	if to.Pushed != to.Commit {
		return page, Confirmed(confirm, NeedUnpushed, fmt.Sprintf("the page is for %s as %s has it, which lacks what is here: push first", to.Branch, to.Remote))
	}
	return page, nil
}

// pull lets the program of the remote's host make the pull request, as the owner would by
// hand.
func (m Maker) pull(ctx context.Context, r *gitstate.Repository, p Place, request Request, act *state.BranchAct, begun func(gitstate.Move) error) error {
	to, base, err := m.between(ctx, r, p)
	if err != nil {
		return err
	}
	act.Branch, act.Remote = to.Branch, to.Remote
	program := p.PullRequests
	if program == "" || !p.Push {
		return fmt.Errorf("%w: the hub makes no pull requests in this project, because the owner has not set projects.FOLDER.git.pull_requests and push", state.ErrConflict)
	}
	title, body := titled(request.Message)
	if title == "" {
		return fmt.Errorf("%w: a pull request needs a title: the first line of the message", state.ErrInvalid)
	}
	made := gitstate.NewPullRequest{Program: program, Branch: to.Branch, Base: base.Branch, Title: title, Body: body, Env: m.Env}
	if err := made.Installed(); err != nil {
		return notMade(program, err)
	}
	if to.Pushed != to.Commit {
		what := fmt.Sprintf("the pull request is of %s as %s has it, which lacks what is here: push first", to.Branch, to.Remote)
		if err := Confirmed(request.Confirm, NeedUnpushed, what); err != nil {
			return err
		}
	}
	if err := begun(gitstate.Move{Branch: to.Branch, Before: to.Pushed, After: to.Commit}); err != nil {
		return err
	}
	act.URL, err = to.PullRequest(ctx, r.Worktree, made)
	return notMade(program, err)
}

// notMade says for a person why there is no pull request, and what to do.
func notMade(program string, err error) error {
	const perhaps = "whether the pull request was made is not known: look at its host before you try again"
	var not *gitstate.NotMade
	switch {
	case errors.Is(err, gitstate.ErrNoProgram):
		login := map[string]string{gitstate.GitHubProgram: "gh auth login", gitstate.GitLabProgram: "glab auth login"}[program]
		return fmt.Errorf("%w: %s is not in the hub's PATH: install it there and sign in with %s, or take projects.FOLDER.git.pull_requests away to get the page instead", state.ErrConflict, program, login)
	case !errors.As(err, &not):
		return err
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %s was interrupted, because the hub stops; %s", state.ErrUnavailable, program, perhaps)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %s took more than %v and was ended (%s); %s", state.ErrUnavailable, program, Bound, not.Said, perhaps)
	case not.Perhaps:
		return fmt.Errorf("%w: %s; %s", state.ErrConflict, not.Said, perhaps)
	}
	return fmt.Errorf("%w: %s made no pull request: %s", state.ErrConflict, program, not.Said)
}
