package branch

import (
	"context"
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

func (m Maker) page(ctx context.Context, r *gitstate.Repository, p Place, message string, confirm []string) (string, error) {
	to, err := m.Git.Upstream(ctx, r)
	switch {
	case err != nil:
		return "", err
	case to.Branch == "":
		return "", gitstate.ErrDetached
	case to.Remote == "":
		return "", fmt.Errorf("%w: the repository has no remote: git remote add origin ADDRESS", gitstate.ErrNothing)
	}
	base, err := r.BaseOf(to.Branch, p.Base)
	if err != nil {
		return "", err
	}
	if base.Branch == "" && (to.Branch == "main" || to.Branch == "master") {
		return "", fmt.Errorf("%w: %s is the main branch: a pull request takes another, git switch -c NAME makes one", gitstate.ErrNothing, to.Branch)
	}
	title, body, _ := strings.Cut(strings.TrimSpace(message), "\n")
	page := forge.PullRequest{Remote: to.Address(), Kind: p.Forge, Branch: to.Branch, Base: base.Branch, Title: title, Body: strings.TrimSpace(body)}.Page()
	if page == "" {
		return "", fmt.Errorf("%w: the host of %s (%s) is not known: name its kind, projects.FOLDER.git.forge: %s; or make the pull request there by hand",
			state.ErrConflict, to.Remote, to.Address(), strings.Join(forge.Kinds(), ", "))
	}
	if to.Pushed != to.Commit {
		return page, Confirmed(confirm, NeedUnpushed, fmt.Sprintf("that the page is for %s as %s has it, which lacks what is here: push first", to.Branch, to.Remote))
	}
	return page, nil
}
