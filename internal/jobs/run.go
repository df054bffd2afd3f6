package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// look is how often the limits of a running job are looked at.
const look = time.Second

// firstPause is the first of the pauses, which grow, after an error of the model's provider.
const firstPause = 5 * time.Second

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
	// restarted is the turn whose silent agent was restarted last.
	restarted int
	// resumed is the interruption that was resumed last; at is when it may be.
	resumed string
	at      time.Time
	// modes counts how often the agent's mode was set back; moded is when it may be again.
	modes int
	moded time.Time
	// looked is when the job's branch was looked at last.
	looked moment
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
		return t.end(ctx, b, job, event.JobStep{Status: status, Reason: reason, Cap: job.Step.Cap})
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
		if v, judged, err := t.judge(ctx, b, job, 0); err != nil || !judged {
			return false, err
		} else if !v.Accepted {
			return end(event.JobFailed, refusal(v))
		}
		start := event.JobStep{Status: event.JobRunning, Unheld: unheld(job.Given, t.agent(b))}
		if meta := b.Log().Metadata(); meta.Worktree == nil {
			start.Lock = lockHere(meta.Workspace)
		}
		return false, b.StepJob(ctx, start, event.Actor{})
	}
	if limit, words := job.Over(t.now(), job.Events); limit != "" {
		return false, b.StepJob(ctx, event.JobStep{Status: event.JobStopping, Cap: limit, Reason: words}, event.Actor{})
	}
	if words := t.strayed(b, job); words != "" {
		return false, b.StepJob(ctx, event.JobStep{Status: event.JobStopping, Reason: words}, event.Actor{})
	}
	switch {
	case job.Turn == 0 && !job.Open:
		if err := t.manager.MakeJobCopy(ctx, t.id); err != nil {
			if ctx.Err() != nil {
				return false, err
			}
			return end(event.JobFailed, "Its working copy could not be made: "+sentence(state.Words(err)))
		}
		if len(job.Given.Attachments) > 0 {
			if err := t.manager.CopyJobUploads(ctx, t.id); err != nil {
				if ctx.Err() != nil {
					return false, err
				}
				return end(event.JobFailed, "Its attached files could not be read: "+sentence(state.Words(err)))
			}
		}
		if err := t.manager.KeepJobStart(ctx, t.id); err != nil {
			t.logger.Info("the files at a job's start were not kept", "session", t.id, "err", err)
		}
		return false, t.prompt(ctx, b, job)
	case job.Open && job.Unasked != "":
		return false, t.setMode(ctx, b, job.Unasked)
	case job.Open && job.Status == event.JobRunning && t.silent(job):
		return t.restart(ctx, b, job)
	case job.Open, job.Waiting > 0, job.End == nil:
		return false, nil
	case job.Interruption != nil:
		return t.interrupted(ctx, b, job)
	case job.End.Error != nil && job.End.Error.Code == state.CodeAuthRequired:
		return false, nil // parked: a person logs in and prompts again
	}
	switch job.End.StopReason {
	case event.StopEndTurn:
		if v, judged, err := t.judge(ctx, b, job, job.Turn); err != nil || !judged {
			return false, err
		} else if !v.Accepted {
			return end(event.JobFailed, refusal(v))
		}
		return end(event.JobCompleted, "")
	case event.StopCancelled:
		return end(event.JobCancelled, "Its turn was cancelled by "+job.End.By+".")
	default:
		return end(event.JobFailed, ending(job.End))
	}
}

// moment is one at which a job's branch is looked at: each round, and the end of
// each turn.
type moment struct {
	turn, rounds int
	open         bool
}

// strayed says why the job has to end because of its branch; empty if it has not to, or if
// this moment was looked at.
func (t *trip) strayed(b *session.BackgroundSession, job session.JobState) string {
	now := moment{job.Turn, job.Rounds, job.Open}
	lock := lockOf(b.Log().Metadata().Worktree, job)
	if job.Turn == 0 || lock == nil || t.looked == now {
		return ""
	}
	t.looked = now
	return astray(lock)
}

// answer records what the job changed and ran, once.
func (t *trip) answer(ctx context.Context, b *session.BackgroundSession, job session.JobState) error {
	if job.Turn == 0 || job.Became != nil {
		return nil
	}
	var a event.JobAnswer
	tests := t.manager.Settings().TestsFor(placeOf(b))
	for _, c := range job.Ran {
		if c.Failed {
			a.Failed = append(a.Failed, c.Command)
		}
		if slices.ContainsFunc(tests, func(test string) bool { return strings.Contains(c.Command, strings.TrimSuffix(test, " *")) }) {
			a.Tests = append(a.Tests, c)
		}
	}
	return t.manager.AnswerJob(ctx, b, a)
}

// end records what the job did, tells the session that delegated it how it ended, and then
// records the end.
func (t *trip) end(ctx context.Context, b *session.BackgroundSession, job session.JobState, step event.JobStep) (done bool, err error) {
	if err := t.answer(ctx, b, job); err != nil {
		return false, err
	}
	if to := job.Given.DelegatedBy; to != "" {
		report := state.JobReport{
			JobID: t.id, Title: state.FirstSentence(job.Given.Task), Status: step.Status, Reason: step.Reason, Summary: job.Answer,
		}
		from, err := t.manager.Session(ctx, to)
		if err == nil {
			err = from.TellJobEnd(ctx, report, state.TheHub())
		}
		if by := madeBy(b); err == nil && job.Given.Tell && from.Info().Status != state.StatusEnded && t.mayRun(by) {
			// The id is the job's, so that a repeat after a crash is no second prompt. It is queued
			// always: a queue that a person holds stays held.
			_, err = from.Prompt(ctx, session.PromptRequest{PromptID: "job-end-" + t.id, Text: report.Words(), When: session.WhenQueue, Actor: by})
		}
		if err != nil && ctx.Err() == nil { // the job ends all the same
			t.logger.Warn("the session that delegated a job was not told its end", "session", to, "job", t.id, "err", err)
		}
	}
	return true, b.StepJob(ctx, step, event.Actor{Name: job.By})
}

// agent are the settings of the job's agent.
func (t *trip) agent(b *session.BackgroundSession) settings.Agent {
	return t.manager.Settings().Agent(b.Info().Agent)
}

const (
	// mostModes is how often an agent's mode is set back, modeBound how long that may take,
	// modePause how long the agent then has to report it.
	mostModes = 3
	modeBound = 20 * time.Second
	modePause = 2 * time.Second
)

// setMode sets an agent that acts unasked to the mode in which it asks. If that does not help,
// the job is cancelled.
func (t *trip) setMode(ctx context.Context, b *session.BackgroundSession, is string) error {
	if now := time.Now(); now.Before(t.moded) {
		return nil
	}
	asks := t.agent(b).Asks
	why := "it has been set back before"
	if t.modes++; t.modes <= mostModes {
		bounded, cancel := context.WithTimeout(ctx, modeBound)
		defer cancel()
		err := b.SetMode(bounded, asks, state.TheHub())
		t.moded = time.Now().Add(modePause)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		why = "it does not take " + asks
		t.logger.Info("a job's agent keeps its mode", "session", t.id, "err", err)
	}
	words := fmt.Sprintf("Its agent went into mode %s, in which it acts without asking, and %s.", state.Cut(state.OneLine(is), mostRefusal/2), why)
	return b.StepJob(ctx, event.JobStep{Status: event.JobStopping, Reason: words}, event.Actor{})
}

// silent reports whether the agent has said nothing for longer than the job allows.
func (t *trip) silent(job session.JobState) bool {
	limit := time.Duration(job.Given.Caps.RoundS) * time.Second
	return limit > 0 && !job.Heard.IsZero() && t.now().Sub(job.Heard) >= limit
}

// restart restarts a silent agent, and its turn is resumed; after a second silence the job is
// cancelled.
func (t *trip) restart(ctx context.Context, b *session.BackgroundSession, job session.JobState) (done bool, err error) {
	if t.restarted > 0 {
		words := fmt.Sprintf("Its agent was silent for %d seconds, and again after a restart (round_s).", job.Given.Caps.RoundS)
		return false, b.StepJob(ctx, event.JobStep{Status: event.JobStopping, Cap: "round_s", Reason: words}, event.Actor{})
	}
	t.restarted = job.Turn
	return false, b.Restart(ctx, state.TheHub())
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
	_, err := b.Prompt(ctx, session.PromptRequest{PromptID: "job-" + t.id, Text: text, Attachments: job.Given.Attachments, Actor: madeBy(b), Begun: true})
	return err
}

// interrupted handles a turn that neither its agent nor a person ended.
func (t *trip) interrupted(ctx context.Context, b *session.BackgroundSession, job session.JobState) (done bool, err error) {
	open := job.Interruption
	if open.Reason == event.CutProviderError {
		return t.again(ctx, b, job)
	}
	own := open.Reason == event.CutAgentRestart && t.restarted > 0
	if job.Given.Resume != event.JobAuto && !own || t.resumed == open.InterruptionID {
		return false, nil // parked: it waits for a person
	}
	t.resumed = open.InterruptionID
	if err := b.ResumeUnchanged(ctx, open.InterruptionID); err != nil {
		t.logger.Info("a job waits for a person", "session", t.id, "why", err)
	}
	return false, nil
}

// again tries once more after an error of the model's provider that passes, some times.
func (t *trip) again(ctx context.Context, b *session.BackgroundSession, job session.JobState) (done bool, err error) {
	open := job.Interruption
	if !job.Again {
		if err := b.Dismiss(ctx, open.InterruptionID, state.TheHub()); err != nil {
			return false, err
		}
		return t.end(ctx, b, job, event.JobStep{Status: event.JobFailed, Reason: ending(job.End)})
	}
	if t.resumed != open.InterruptionID {
		pause := firstPause << (job.Tries - 1)
		t.resumed, t.at = open.InterruptionID, t.now().Add(pause+rand.N(pause/4)) // jobs that failed together come back apart
	}
	if job.Step.Status == event.JobParked || t.now().Before(t.at) {
		return false, nil
	}
	err = b.ResumeUnchanged(ctx, open.InterruptionID)
	if err == nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	words := sentence(state.Cut(state.OneLine(ending(job.End)), mostRefusal/2)) + " It could not try again by itself: " + sentence(state.Words(err))
	return false, b.StepJob(ctx, event.JobStep{Status: event.JobParked, Reason: words}, event.Actor{})
}

// sentence ends words with one full stop.
func sentence(words string) string { return strings.TrimRight(words, ". ") + "." }

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
