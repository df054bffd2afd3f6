package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// look is how often the limits of a running job are looked at.
const look = time.Second

// tries is how often an error of the model's provider is followed by another attempt, after
// pauses that grow from firstPause.
const (
	tries      = 3
	firstPause = 5 * time.Second
)

// run brings a job to its end. It returns nil when the job has ended, or is gone.
func (r *Runner) run(ctx context.Context, id string) error {
	t := trip{Runner: r, id: id}
	for {
		b, err := r.manager.Session(ctx, id)
		if errors.Is(err, state.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		done, err := t.follow(ctx, b)
		if done || err != nil {
			return err
		}
	}
}

// trip is one run of a job.
type trip struct {
	*Runner
	id string
	// resumed is the interruption that was resumed last; at is when it may be.
	resumed string
	failed  int
	at      time.Time
}

// follow brings the job forward until it has ended. done is false if its session was closed
// meanwhile.
func (t *trip) follow(ctx context.Context, b *session.BackgroundSession) (done bool, err error) {
	clock := time.NewTicker(look)
	defer clock.Stop()
	for {
		changed := b.StateChanged()
		job, err := b.Job(ctx)
		if err == nil {
			done, err = t.step(ctx, b, job)
		}
		if done || err != nil {
			select {
			case <-b.Done():
				return false, nil // it was closed, and may be opened again
			default:
			}
			return done, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-b.Done():
			return false, nil
		case <-changed:
		case <-clock.C:
		}
	}
}

// step does the next thing for a job, if there is one. Each step may be repeated after a
// crash: the log of the session has it once.
func (t *trip) step(ctx context.Context, b *session.BackgroundSession, job session.JobState) (done bool, err error) {
	end := func(status event.JobStatus, reason string) (bool, error) {
		step := event.JobStep{Status: status, Reason: reason, Cap: job.Step.Cap}
		return true, b.StepJob(ctx, step, event.Actor{Name: job.By})
	}
	switch is := job.Step.Status; {
	case is.Ended():
		return true, nil
	case is == event.JobStopping && job.Open:
		return false, b.Cancel(ctx, event.Actor{Name: job.By})
	case is == event.JobStopping && job.Waiting > 0:
		return false, b.QueueClear(ctx, event.Actor{Name: job.By})
	case is == event.JobStopping:
		return end(event.JobCancelled, job.Step.Reason)
	case is == "" && !t.mayRun(madeBy(b)):
		return end(event.JobCancelled, "The credential that made it may no longer run it.")
	case is == "":
		return false, b.StepJob(ctx, event.JobStep{Status: event.JobRunning}, event.Actor{})
	}
	if limit, words := job.Over(t.now(), job.Events); limit != "" {
		return false, b.StepJob(ctx, event.JobStep{Status: event.JobStopping, Cap: limit, Reason: words}, event.Actor{})
	}
	switch {
	case job.Turn == 0 && !job.Open:
		return false, t.prompt(ctx, b, job)
	case job.Open, job.Waiting > 0, job.End == nil:
		return false, nil
	case job.Interruption != nil:
		return t.interrupted(ctx, b, job)
	case job.End.Error != nil && job.End.Error.Code == state.CodeAuthRequired:
		return false, nil // parked: a person logs in and prompts again
	}
	switch job.End.StopReason {
	case event.StopEndTurn:
		return end(event.JobCompleted, "")
	case event.StopCancelled:
		return end(event.JobCancelled, "Its turn was cancelled by "+job.End.By+".")
	default:
		return end(event.JobFailed, ending(job.End))
	}
}

// madeBy is the actor whose request made the session.
func madeBy(b *session.BackgroundSession) event.Actor {
	meta := b.Log().Metadata()
	return event.Actor{Name: meta.CreatedBy, ID: meta.CreatedByID}
}

// prompt gives the agent the task, once.
func (t *trip) prompt(ctx context.Context, b *session.BackgroundSession, job session.JobState) error {
	text := job.Given.Task
	if len(job.Given.Files) > 0 {
		text += "\n\nFiles:"
		for _, f := range job.Given.Files {
			text += "\n- " + f
		}
	}
	_, err := b.Prompt(ctx, session.PromptRequest{PromptID: "job-" + t.id, Text: text, Actor: madeBy(b)})
	return err
}

// interrupted handles a turn that neither its agent nor a person ended.
func (t *trip) interrupted(ctx context.Context, b *session.BackgroundSession, job session.JobState) (done bool, err error) {
	open := job.Interruption
	if open.Reason == event.CutProviderError {
		return t.again(ctx, b, job)
	}
	if job.Given.Resume != event.JobAuto || t.resumed == open.InterruptionID {
		return false, nil // parked: it waits for a person
	}
	t.resumed = open.InterruptionID
	if err := b.ResumeUnchanged(ctx, open.InterruptionID); err != nil {
		t.logger.Info("a job waits for a person", "session", t.id, "why", err)
	}
	return false, nil
}

// again tries once more after an error of the model's provider, some times.
func (t *trip) again(ctx context.Context, b *session.BackgroundSession, job session.JobState) (done bool, err error) {
	open := job.Interruption
	if t.resumed != open.InterruptionID {
		t.resumed, t.at = open.InterruptionID, t.now().Add(firstPause<<t.failed)
		t.failed++
	}
	if t.failed > tries {
		if err := b.Dismiss(ctx, open.InterruptionID, state.TheHub()); err != nil {
			return false, err
		}
		return true, b.StepJob(ctx, event.JobStep{Status: event.JobFailed, Reason: ending(job.End)}, event.Actor{})
	}
	if t.now().Before(t.at) {
		return false, nil
	}
	t.at = t.now().Add(time.Minute) // if it cannot be resumed
	if err := b.ResumeUnchanged(ctx, open.InterruptionID); err != nil {
		t.logger.Info("a job waits for a person", "session", t.id, "why", err)
	}
	return false, nil
}

// ending says how a turn ended that was not completed.
func ending(end *event.TurnEnd) string {
	if end.Error != nil {
		return end.Error.Message
	}
	return fmt.Sprintf("Its turn ended with %s.", end.StopReason)
}

// Cancel ends a job before its time: one that waits at once, one that runs when its turn is
// cancelled. A job that has ended stays as it is.
func (r *Runner) Cancel(ctx context.Context, id string, by event.Actor) error {
	b, err := r.manager.Session(ctx, id)
	if err != nil {
		return err
	}
	job, err := b.Job(ctx)
	if err != nil {
		return err
	}
	step := event.JobStep{Status: event.JobStopping}
	if job.Step.Status == "" {
		step.Status = event.JobCancelled
	}
	return b.StepJob(ctx, step, by)
}
