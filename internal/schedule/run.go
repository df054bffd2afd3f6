package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// look is how often the clock on the wall is looked at: a timer does not see that the
	// machine slept or that the clock was set.
	look = 30 * time.Second
	// rest is the pause after a write or a job that failed for now.
	rest = 5 * time.Second
)

// Run makes the jobs that are due until ctx ends.
func (s *Schedules) Run(ctx context.Context) {
	if s.broken != nil {
		return
	}
	for ctx.Err() == nil {
		own, jobs := s.changed.Listen(), s.jobs.Changed()
		wait, held := s.turn(ctx)
		if !held {
			jobs = nil
		}
		timer := time.NewTimer(min(wait, look))
		select {
		case <-ctx.Done():
		case <-own:
		case <-jobs:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// turn makes all that is due now, and returns how long nothing else is. held means that a
// due run waits for the end of a job.
func (s *Schedules) turn(ctx context.Context) (wait time.Duration, held bool) {
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	wait = look
	for _, r := range all {
		waits, holds, err := s.bring(ctx, r.ID)
		if err != nil && ctx.Err() == nil && !errors.Is(err, state.ErrNotFound) { // it was deleted meanwhile
			s.logger.Warn("a schedule could not go on", "schedule", r.ID, "err", err)
			waits = rest
		}
		wait, held = min(wait, waits), held || holds
	}
	return wait, held
}

// bring brings one schedule forward. Each step is on the disk before the next, and may be
// repeated after a crash.
func (s *Schedules) bring(ctx context.Context, id string) (wait time.Duration, held bool, err error) {
	r, err := s.get(id)
	if err != nil {
		return look, false, err
	}
	if r.Pending != nil {
		if r, err = s.finish(ctx, r); err != nil {
			return look, false, err
		}
	}
	if r.Status != wire.ScheduleActive {
		return look, false, nil
	}
	now := s.now()
	due := r.due(now)
	switch {
	case due.IsZero():
		_, err := s.update(id, func(r *record) error {
			if r.Status == wire.ScheduleActive {
				r.Status, r.Reason = wire.ScheduleEnded, "no due time is left"
			}
			return nil
		})
		return look, false, err
	case due.After(now):
		return due.Sub(now), false, nil
	case !s.mayRun(r.By):
		_, err := s.update(id, func(r *record) error {
			r.Status, r.Reason = wire.SchedulePaused, revoked(r.By)
			return nil
		})
		return look, false, err
	}
	busy := s.busy(r)
	if busy != "" && r.New.Overlap == wire.OverlapQueue {
		return look, true, nil
	}
	began := false
	r, err = s.update(id, func(r *record) error {
		if r.Status != wire.ScheduleActive || r.due(now) != due { // paused or resumed meanwhile
			return nil
		}
		r.LastDue, r.Settled = due, now.UTC()
		if busy != "" {
			r.note(wire.ScheduleOutcome{Due: due, At: now.UTC(), Outcome: wire.RunSkipped, Error: "job " + busy + " of this schedule has not ended"})
			return nil
		}
		r.Pending, began = &due, true
		return nil
	})
	if err == nil && began {
		_, err = s.finish(ctx, r)
	}
	return 0, false, err // the next due time is looked at once more
}

// busy is the newest job of a schedule, if it has not ended.
func (s *Schedules) busy(r record) string {
	if r.LastJob == "" {
		return ""
	}
	if status := s.jobs.StatusOf(r.LastJob); status == "" || status.Ended() {
		return ""
	}
	return r.LastJob
}

// finish makes the job of a record's pending due time, or finds that it is made, and notes
// the outcome.
func (s *Schedules) finish(ctx context.Context, r record) (record, error) {
	due := *r.Pending
	o := wire.ScheduleOutcome{Due: due, At: s.now().UTC(), Outcome: wire.RunStarted}
	by, key := r.actor(), r.key(due)
	id, made := s.jobs.MadeBy(by, key)
	barred := !made && !s.mayRun(r.By)
	switch {
	case made:
		o.JobID = id
	case barred:
		o.Outcome, o.Error = wire.RunRefused, revoked(r.By)
	default:
		var err error
		if o.JobID, err = s.jobs.MakeOnce(ctx, r.New.Job, by, key, r.ID); err != nil {
			if !lasting(err) {
				return r, err
			}
			o.Outcome, o.Error = wire.RunRefused, state.Words(err)
		}
	}
	return s.update(r.ID, func(r *record) error {
		if r.Pending == nil || !r.Pending.Equal(due) {
			return nil
		}
		if r.Pending = nil; barred && r.Status == wire.ScheduleActive {
			r.Status, r.Reason = wire.SchedulePaused, o.Error
		}
		if o.JobID != "" {
			r.LastJob = o.JobID
		}
		r.note(o)
		return nil
	})
}

// lasting reports whether an error refuses a job, and not only for now.
func lasting(err error) bool {
	for _, kind := range []error{state.ErrInvalid, state.ErrNotFound, state.ErrConflict, state.ErrTooLarge, state.ErrForbidden} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func revoked(by event.Actor) string {
	return fmt.Sprintf("the credential of %s, which made this schedule, was revoked or expired", by.Name)
}

func (r record) when() (when, error) { return whenOf(r.New, r.CreatedAt) }

// due is the due time that comes next, or is owed. A due time is run once, because it is
// later than all that were run, whatever the clock says.
func (r record) due(now time.Time) time.Time {
	w, err := r.when() // checked when it was read or made
	if err != nil {
		return time.Time{}
	}
	from := r.Settled
	if now.Before(from) {
		from = now
	}
	if r.LastDue.After(from) {
		from = r.LastDue
	}
	return w.after(from)
}

// actor is who makes the schedule's jobs: its owner, by its name.
func (r record) actor() event.Actor {
	return event.Actor{Name: fmt.Sprintf("%s (schedule %s)", r.By.Name, r.ID), ID: r.By.ID}
}

func (r record) key(due time.Time) string {
	return "schedule/" + r.ID + "/" + due.UTC().Format(time.RFC3339)
}

// note adds an outcome.
func (r *record) note(o wire.ScheduleOutcome) {
	r.Outcomes = append([]wire.ScheduleOutcome{o}, r.Outcomes[:min(len(r.Outcomes), outcomes-1)]...)
}
