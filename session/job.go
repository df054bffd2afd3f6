package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/worktree"
)

// CreateJob writes the session of a new job, which waits for its start and is not open.
// With a key it makes one, however often the request is repeated; made is false for a
// repeated one. It is ErrConflict if the key was used for another request.
func (m *Manager) CreateJob(ctx context.Context, r CreateRequest, job event.Job) (info list.Info, made bool, err error) {
	r.job = &job
	if r.Key == "" {
		id, err := m.begin(ctx, r)
		return m.jobLine(id), err == nil, err
	}
	if err := state.CheckID("a new job", r.Key); err != nil {
		return list.Info{}, false, err
	}
	done, err := m.creating.hold(ctx, creationKey{r.Actor.ID, r.Key})
	if err != nil {
		return list.Info{}, false, err
	}
	defer done()
	if md, before := m.madeBy(r); before {
		return m.listed(md), false, r.sameAs(md)
	}
	id, err := m.begin(ctx, r)
	return m.jobLine(id), err == nil, err
}

// CheckJob refuses what CreateJob would refuse now, and makes nothing.
func (m *Manager) CheckJob(ctx context.Context, r CreateRequest) error {
	if err := r.checkBegin(); err != nil {
		return err
	}
	current := m.settings.Load()
	if r.Agent != "" && !current.Configured(r.Agent) {
		return noAgent(r.Agent)
	}
	workspace, err := r.resolve(current)
	if err != nil || r.Worktree == nil {
		return state.About("workspace", err)
	}
	_, err = m.worktrees.Plan(ctx, current, workspace, r.worktree())
	return state.About("worktree", err)
}

// JobMadeBy finds the job that an actor made with a key.
func (m *Manager) JobMadeBy(by event.Actor, key string) (id string, made bool) {
	md, made := m.madeBy(CreateRequest{Actor: by, Key: key})
	return md.SessionID, made
}

// JobStatus is the status of a job as the list has it; empty if there is no such job. It
// opens no session.
func (m *Manager) JobStatus(id string) event.JobStatus {
	meta, listed := m.journal.Listed(id)
	if !listed {
		return ""
	}
	if info := m.listed(meta); info.Job != nil {
		return info.Job.Status
	}
	return ""
}

// Listed reports whether there is a session of this id. It opens none.
func (m *Manager) Listed(id string) bool {
	_, listed := m.journal.Listed(id)
	return listed
}

// MakeJobCopy makes the working copy that a job was given at its creation, once. Its errors
// say what a person can do.
func (m *Manager) MakeJobCopy(ctx context.Context, id string) error {
	meta, listed := m.journal.Listed(id)
	w := worktreeOf(meta)
	if !listed || w == nil {
		return nil
	}
	sum := sha256.Sum256([]byte("job\x00" + id))
	return m.worktrees.Complete(ctx, m.settings.Load(), worktree.Made{Worktree: *w, Workspace: meta.Workspace}, hex.EncodeToString(sum[:16]))
}

func (m *Manager) jobLine(id string) list.Info {
	meta, _ := m.journal.Listed(id)
	return m.listed(meta)
}

// Jobs lists the sessions that are jobs, newest first. It opens none.
func (m *Manager) Jobs() (jobs []list.Info) {
	for md := range m.journal.Newest(journal.Place{}) {
		if info := m.listed(md); info.Job != nil {
			jobs = append(jobs, info)
		}
	}
	return jobs
}

// JobState is a job and what its session does now.
type JobState struct {
	state.Job
	// Status is where the job is.
	Status event.JobStatus
	// Turn counts the turns; Open means that the latest has no end.
	Turn int
	Open bool
	// Waiting counts the prompts in the queue.
	Waiting int
	// Interruption is the unsettled interruption; nil if there is none.
	Interruption *state.Interruption
	// Events are those of the log.
	Events int64
	// Ended means that the session is ended.
	Ended bool
	// Unasked is the agent's mode if it acts unasked in it; else empty.
	Unasked string
	// Heard is when the agent was heard last, or when the turn was given to it; zero while it
	// has none.
	Heard time.Time
}

// errNoJob is the error of a verb on a session that is none.
var errNoJob = fmt.Errorf("%w: this session is not a job", state.ErrNotFound)

// Job returns how far the job is.
func (b *BackgroundSession) Job(ctx context.Context) (JobState, error) {
	return ask(ctx, b.mail, func(e *engine) (JobState, error) {
		f := &e.fold
		if f.Job == nil || e.imported {
			return JobState{}, errNoJob
		}
		return JobState{
			Job: *f.Job, Status: f.Job.Status(e.listing.status()), Turn: f.Turn, Open: f.Open, Waiting: e.queue.Len(),
			Interruption: e.interruption().Shown(), Events: int64(f.Seq), Ended: f.Ended, Heard: e.heard(), Unasked: e.agent.unasked(),
		}, nil
	})
}

// heard is JobState.Heard.
func (e *engine) heard() time.Time {
	if !e.fold.Open || !e.turn.given() {
		return time.Time{}
	}
	if e.agent.heard.After(e.turn.since) {
		return e.agent.heard
	}
	return e.turn.since
}

// StepJob records a step in the job's life, once: a job that has ended takes none, and one
// that is to end only the end.
func (b *BackgroundSession) StepJob(ctx context.Context, step event.JobStep, by event.Actor) error {
	return tell(ctx, b.mail, func(e *engine) error {
		job := e.fold.Job
		if job == nil || e.imported {
			return errNoJob
		}
		if is := job.Step.Status; is.Ended() || is == step.Status || is == event.JobStopping && !step.Status.Ended() {
			return nil
		}
		if err := e.refusal(); err != nil {
			return err
		}
		if step.Status.Ended() {
			return e.endJob(step, by)
		}
		_, err := e.write(e.entries(jobNote(step, by))...)
		return e.stuck(err)
	})
}

// JudgeJob records a verdict of an auditor, once for the job and once for the result of each
// turn. One that comes too late is dropped.
func (b *BackgroundSession) JudgeJob(ctx context.Context, v event.JobVerdict, by event.Actor) error {
	raw, err := json.Marshal(v)
	if err != nil { // strings and numbers alone
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		job := e.fold.Job
		if job == nil || e.imported {
			return errNoJob
		}
		past := v.Turn == 0 && job.Step.Status != "" || v.Turn > 0 && (e.fold.Turn != v.Turn || e.fold.Open)
		if is := job.Step.Status; past || is.Ended() || is == event.JobStopping || job.Verdict(v.Turn) != nil {
			return nil
		}
		if err := e.refusal(); err != nil {
			return err
		}
		_, err := e.write(e.entries(event.Note{Method: state.NoteJobVerdict, Text: event.Text(v.Words()), Raw: raw, By: by.Name, ByID: by.ID})...)
		return e.stuck(err)
	})
}

// endJob records the end of a job and that of its session.
func (e *engine) endJob(step event.JobStep, by event.Actor) error {
	result, err := json.Marshal(JobResult{Status: step.Status, Summary: e.fold.Job.Answer})
	if err != nil { // strings alone
		return err
	}
	end := state.EndOf("the job is over", by)
	end.Result = result
	return e.end(end, jobNote(step, by))
}

// JobResult says how a job ended. It is the result in the session_end of its log.
type JobResult struct {
	Status event.JobStatus `json:"status"`
	// Summary is the agent's last message, at most 16 KiB.
	Summary string `json:"summary,omitempty"`
}

// jobNote is the hub's statement about a step of a job.
func jobNote(step event.JobStep, by event.Actor) event.Note {
	raw, err := json.Marshal(step)
	if err != nil { // encoding strings never fails
		panic(err)
	}
	return event.Note{Method: state.NoteJob, Text: event.Text(step.Words()), Raw: raw, By: by.Name, ByID: by.ID}
}

// TellJobEnd tells the session that delegated a job how it ended, once.
func (b *BackgroundSession) TellJobEnd(ctx context.Context, r state.JobReport, by event.Actor) error {
	raw, err := json.Marshal(r)
	if err != nil { // encoding strings never fails
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		if slices.Contains(e.fold.Reports, r.JobID) {
			return nil
		}
		if err := e.refusal(); err != nil {
			return err
		}
		_, err := e.write(e.entries(event.Note{Method: state.NoteJobResult, Text: event.Text(r.Words()), Raw: raw, By: by.Name, ByID: by.ID})...)
		return e.stuck(err)
	})
}

// mostDiff limits the diff of a job in bytes, mostAnswered the files that are named.
const (
	mostDiff     = 256 << 10
	mostAnswered = 200
)

// KeepJobStart keeps the files as they are before the job's first prompt, to compare them
// with those at its end.
func (m *Manager) KeepJobStart(ctx context.Context, id string) error {
	meta, listed := m.journal.Listed(id)
	if !listed || m.hub.states == nil {
		return nil
	}
	_, err := m.hub.states.Keep(ctx, filestate.Of{Session: id, Folder: meta.Workspace}, filestate.JobStart, nil)
	return err
}

// AnswerJob records what the job changed, once. It fills in the files of the answer.
func (m *Manager) AnswerJob(ctx context.Context, b *BackgroundSession, a event.JobAnswer) error {
	diff, err := m.jobFiles(ctx, filestate.Of{Session: b.id, Folder: b.log.Metadata().Workspace}, &a)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.logger.Info("the files that a job changed are not known", "session", b.id, "err", err)
		a.Unknown = noUndo(err)
	}
	if len(diff) > 0 {
		blob, err := b.log.PutBlobFrom(ctx, "text/x-diff", bytes.NewReader(diff))
		if err != nil {
			return fmt.Errorf("store the diff of a job: %w", b.unkept(err))
		}
		a.Diff = &blob
	}
	raw, err := json.Marshal(a)
	if err != nil { // strings and numbers alone
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		if job := e.fold.Job; job == nil || e.imported || job.Became != nil {
			return nil
		}
		if err := e.refusal(); err != nil {
			return err
		}
		_, err := e.write(e.entries(event.Note{Method: state.NoteJobAnswer, Raw: raw})...)
		return e.stuck(err)
	})
}

// jobFiles compares the files with those at the job's start.
func (m *Manager) jobFiles(ctx context.Context, of filestate.Of, a *event.JobAnswer) (diff []byte, err error) {
	k := m.hub.states
	if k == nil {
		return nil, &filestate.NoneError{Why: "this hub keeps no files (undo_wait is 0)"}
	}
	kept, err := k.States(of)
	if err != nil {
		return nil, err
	}
	from := kept[filestate.JobStart]
	if from == "" {
		return nil, &filestate.NoneError{Why: "the files were not kept when it started"}
	}
	now, err := k.Keep(ctx, of, filestate.JobEnd, nil)
	if err != nil {
		return nil, err
	}
	differ, err := k.Differences(ctx, of, from, now.Commit)
	if err != nil || len(differ) == 0 {
		return nil, err
	}
	diff, a.Cut, err = k.Diff(ctx, of, from, now.Commit, mostDiff)
	if err != nil {
		return nil, err
	}
	a.Changed = len(differ)
	for _, d := range differ[:min(len(differ), mostAnswered)] {
		a.Files = append(a.Files, strings.ToValidUTF8(d.Path, "\uFFFD"))
	}
	return diff, nil
}

// ResumeUnchanged resumes the open interruption if a person would have nothing to confirm,
// else it is *resume.NeedsConfirmation.
func (b *BackgroundSession) ResumeUnchanged(ctx context.Context, interruptionID string) error {
	err := b.resumeUnchanged(ctx, interruptionID)
	var settled *resume.AlreadySettled
	if errors.As(err, &settled) {
		return nil
	}
	return err
}
