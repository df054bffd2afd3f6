package jobs

import (
	"context"
	"io"
	"strings"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
)

// Line is a job in lists.
func Line(info list.Info) wire.JobInfo {
	j := info.Job
	out := wire.JobInfo{
		JobID: info.SessionID, SessionID: j.DelegatedBy, ScheduleID: j.ScheduleID, Attempts: j.Attempts, AttemptOf: j.AttemptOf, Repo: info.ProjectRoot, RequestedBy: j.RequestedBy, Agent: info.Agent, Title: j.Title,
		Status: j.Status, Error: j.Reason, Priority: j.Priority, Retention: j.Retention, CreatedAt: info.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt,
		Rounds: j.Rounds, Last: j.Last, Machine: info.Machine,
	}
	if w := info.Worktree; w != nil {
		out.Repo, out.Branch = w.Of, w.Branch
	}
	return out
}

// Told is Line, with why the job waits if a budget holds it.
func (r *Runner) Told(ctx context.Context, info list.Info) wire.JobInfo {
	out := Line(info)
	if out.Status == event.JobQueued && info.Machine == nil {
		if day, err := r.manager.BudgetStops(ctx, folderOf(info)); err == nil && day != nil {
			out.Waits = day.Words()
		}
	}
	return out
}

// Job returns a job: its line, and how far it is.
func (r *Runner) Job(ctx context.Context, id string) (list.Info, session.JobState, error) {
	b, err := r.manager.Session(ctx, id)
	if err != nil {
		return list.Info{}, session.JobState{}, err
	}
	job, err := b.Job(ctx)
	return b.Info(), job, err
}

// Info returns a job, whole.
func (r *Runner) Info(ctx context.Context, id string) (wire.JobInfo, error) {
	info, job, err := r.Job(ctx, id)
	if err != nil {
		return wire.JobInfo{}, err
	}
	return r.whole(ctx, info, job), nil
}

// whole adds to a job's line what it was given, its result and what it used.
func (r *Runner) whole(ctx context.Context, info list.Info, job session.JobState) wire.JobInfo {
	out := r.Told(ctx, info)
	given := job.Given
	out.Input, out.ResultSummary, out.Verdicts, out.Unheld = &given, job.Answer, job.Verdicts, job.Unheld
	out.Usage = &wire.JobUsage{Rounds: job.Rounds, Tokens: job.Tokens, Cost: job.Cost, Events: job.Events, OutputBytes: job.Output}
	out.Lock, out.Refused = lockOf(info.Worktree, job), job.Denied
	a := job.Became
	if a == nil {
		return out
	}
	out.ChangedFiles, out.Changed, out.DiffCut, out.NoDiff = a.Files, a.Changed, a.Cut, a.Unknown
	out.FailedCommands, out.Tests = a.Failed, a.Tests
	var err error
	if out.Diff, err = r.Diff(ctx, info.SessionID, a); err != nil {
		out.NoDiff = "the stored diff cannot be read"
	}
	return out
}

// Diff reads the diff of a job that is to end; empty if there is none.
func (r *Runner) Diff(ctx context.Context, id string, a *event.JobAnswer) (string, error) {
	if a == nil || a.Diff == nil {
		return "", nil
	}
	b, err := r.manager.Session(ctx, id)
	if err != nil {
		return "", err
	}
	blob, err := b.OpenBlob(a.Diff.SHA256)
	if err != nil {
		return "", err
	}
	defer blob.Close()
	text, err := io.ReadAll(io.LimitReader(blob, a.Diff.Bytes))
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}
