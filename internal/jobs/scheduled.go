package jobs

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// CheckNew refuses a request that Create would refuse now.
func (r *Runner) CheckNew(ctx context.Context, in wire.NewJob, by event.Actor) error {
	o := OrderOf(in, by, "")
	all, err := o.attempts()
	if err != nil {
		return err
	}
	if o = all[0]; len(all) > 1 {
		return fmt.Errorf("%w: a schedule makes one job each time: leave attempts out", state.ErrInvalid)
	}
	if err := r.Check(ctx, &o); err != nil {
		return err
	}
	if len(o.Job.Attachments) > 0 {
		return refuse("files", "a schedule's jobs have no attachments: put the file into the folder, and name its path")
	}
	return r.manager.CheckJob(ctx, o.Session)
}

// MadeBy finds the job that an actor made with a key.
func (r *Runner) MadeBy(by event.Actor, key string) (id string, made bool) {
	return r.manager.JobMadeBy(by, key)
}

// MakeOnce makes the job of a key for a schedule, unless it is made. It is ErrConflict while
// the budget of the project is used up.
func (r *Runner) MakeOnce(ctx context.Context, in wire.NewJob, by event.Actor, key, schedule string) (id string, err error) {
	o := OrderOf(in, by, key)
	o.Job.ScheduleID = schedule
	if folder, err := r.manager.Settings().Resolve(o.Session.Workspace); err == nil { // else Create refuses it
		day, err := r.manager.BudgetStops(ctx, folder)
		if err != nil {
			return "", err
		}
		if day != nil {
			return "", fmt.Errorf("%w: %s", state.ErrConflict, day.Words())
		}
	}
	info, _, err := r.Create(ctx, o)
	return info.SessionID, err
}

// StatusOf is the status of a job; empty if there is no such job.
func (r *Runner) StatusOf(id string) event.JobStatus { return r.manager.JobStatus(id) }

// Changed is closed when a job may have ended.
func (r *Runner) Changed() <-chan struct{} { return r.manager.Changed() }
