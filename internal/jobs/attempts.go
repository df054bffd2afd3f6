package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// mostAttempts limits the attempts at one task.
const mostAttempts = 4

// attempts are the orders of the jobs that o asks for, the first one first. The keys of the
// others follow from that of the first, so that a repeated request finds each.
func (o Order) attempts() ([]Order, error) {
	n := o.Job.Attempts
	switch {
	case n < 0 || n > mostAttempts:
		return nil, refuse("attempts", "attempts is from 1 to %d", mostAttempts)
	case len(o.Agents) > max(n, 1) || len(o.Models) > max(n, 1):
		return nil, refuse("attempts", "agents and models have at most as many entries as there are attempts")
	case o.Session.Agent != "" && len(o.Agents) > 0, o.Session.Model != "" && len(o.Models) > 0:
		return nil, refuse("agent", "give agent or agents, and model or models, not both")
	}
	if n == 1 {
		o.Job.Attempts = 0
	}
	if n < 2 {
		return []Order{o.attempt(0)}, nil
	}
	if w := o.Session.Worktree; o.Here {
		return nil, refuse("attempts", "each attempt works in its own working copy: leave worktree: false out")
	} else if w != nil && w.Branch+w.Folder != "" {
		return nil, refuse("worktree", "each attempt has its own branch and folder: leave worktree.branch and worktree.folder out")
	}
	if o.Session.Key != "" {
		if err := state.CheckID("a new job", o.attempt(n-1).Session.Key); err != nil {
			return nil, err
		}
	}
	var all []Order
	for i := range n {
		all = append(all, o.attempt(i))
	}
	return all, nil
}

// attempt is the order of attempt i, which counts from 0.
func (o Order) attempt(i int) Order {
	if n := len(o.Agents); n > 0 {
		o.Session.Agent = o.Agents[i%n]
	}
	if n := len(o.Models); n > 0 {
		o.Session.Model = o.Models[i%n]
	}
	if i > 0 && o.Session.Key != "" {
		o.Session.Key += "/" + strconv.Itoa(i+1)
	}
	if w := o.Session.Worktree; w != nil {
		own := *w
		o.Session.Worktree = &own
	}
	return o
}

// checkUnmade refuses an attempt of several that could not be made, before the first is.
func (r *Runner) checkUnmade(ctx context.Context, o Order, n int) error {
	if n == 1 {
		return nil // making it refuses it
	}
	if o.Session.Key != "" {
		if _, made := r.manager.JobMadeBy(o.Session.Actor, o.Session.Key); made {
			return nil
		}
	}
	return r.manager.CheckJob(ctx, o.Session)
}

// others are the other attempts at the task of a job, the oldest first. It is an ErrConflict
// if there were none.
func (r *Runner) others(ctx context.Context, id string) ([]list.Info, error) {
	info, _, err := r.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if info.Job == nil || info.Job.Attempts == 0 {
		return nil, fmt.Errorf("%w: the job is the only attempt at its task", state.ErrConflict)
	}
	first := id
	if of := info.Job.AttemptOf; of != "" {
		first = of
	}
	page, err := r.manager.List(list.Options{Status: "all", Jobs: list.AnyJob, AttemptsOf: first, Limit: 2 * mostAttempts})
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(page.Sessions, func(other list.Info) bool { return other.SessionID == id })
	slices.SortFunc(all, func(a, b list.Info) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}

// DiscardOthers cancels the other attempts at the task of a job and discards their working
// copies with their changes. It returns the attempts that are still ending; their copies
// stay until the next call. Repeating an interrupted call completes it.
func (r *Runner) DiscardOthers(ctx context.Context, id string, by event.Actor) (ending []list.Info, err error) {
	others, err := r.others(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if !other.Job.Status.Ended() {
			if err := r.Cancel(ctx, other.SessionID, by); err != nil && !errors.Is(err, state.ErrConflict) {
				return nil, err
			}
			if !r.manager.JobStatus(other.SessionID).Ended() {
				ending = append(ending, other)
				continue
			}
		}
		if err := r.manager.DiscardWhole(ctx, other.SessionID, by); err != nil {
			return nil, err
		}
	}
	return ending, nil
}
