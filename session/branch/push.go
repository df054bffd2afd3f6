package branch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/state"
)

// push pushes the branch as the owner would by hand.
func (m Maker) push(ctx context.Context, r *gitstate.Repository, p Place, request Request, act *state.BranchAct, begun func(gitstate.Move) error) error {
	upstream, err := m.Git.Upstream(ctx, r)
	if err != nil {
		return err
	}
	act.Branch, act.Remote = upstream.Branch, upstream.Remote
	if !p.Push {
		byHand := ""
		if command := upstream.Command(r.Worktree); command != "" {
			byHand = "; by hand: " + command
		}
		return fmt.Errorf("%w: the hub does not push in this project, because the owner has not set projects.FOLDER.git.push%s", state.ErrConflict, byHand)
	}
	standing, err := m.Git.Compare(ctx, r, gitstate.Base{})
	if err != nil {
		return err
	}
	if standing.Uncommitted > 0 {
		what := "these files are not committed, so they are not pushed: " + namesOf(standing.Names, standing.Uncommitted)
		if err := Confirmed(request.Confirm, NeedUncommitted, what); err != nil {
			return err
		}
	}
	made, err := m.Git.Push(ctx, r, m.Env, func(remote string, move gitstate.Move) error {
		act.Remote = remote
		return begun(move)
	})
	if err == nil {
		act.After = made.After
	}
	return m.notPushed(*act, err)
}

// Why is the sentence of an error of an act.
func Why(err error) string {
	_, why, found := strings.Cut(err.Error(), ": ")
	if !found {
		return err.Error()
	}
	return strings.TrimRight(why, ".")
}

// notPushed says for a person why a branch was not pushed, and what to do.
func (m Maker) notPushed(act state.BranchAct, err error) error {
	var refused *gitstate.NotPushed
	switch {
	case !errors.As(err, &refused):
		return err
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: the push of %s was interrupted, because the hub stops", state.ErrUnavailable, act.Branch)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: the push of %s took more than %v and was ended: %s", state.ErrUnavailable, act.Branch, PushBound, refused.Said)
	case refused.Behind:
		return fmt.Errorf("%w: %s has commits on %s that are not here, and the hub forces nothing: git pull brings them here, or ask the agent; then push again", state.ErrConflict, act.Remote, act.Branch)
	}
	return fmt.Errorf("%w: %s was not pushed to %s: %s", state.ErrConflict, act.Branch, act.Remote, refused.Said)
}
