package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/allow"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

const (
	// mostTask limits a task in bytes: it is in the list of sessions while the job waits.
	mostTask = 32 << 10
	// mostFiles limits the files that a task names.
	mostFiles = 100
)

// Order asks for a new job.
type Order struct {
	// Session is the request for its session, without a prompt. Its Worktree is where the
	// job works; nil is a new working copy if Workspace is in a repository.
	Session session.CreateRequest
	// Here means that it works in Workspace itself. Other jobs there wait for it.
	Here bool
	Job  event.Job
	// Agents and Models are those of the attempts in turn, instead of the session's.
	Agents, Models []string
}

// OrderOf is the order of a client's request by an actor. A key makes it repeatable.
func OrderOf(in wire.NewJob, by event.Actor, key string) Order {
	o := Order{
		Session: session.CreateRequest{Agent: in.Agent, Workspace: in.Workspace, Mode: in.Mode, Model: in.Model, Options: in.Options, Actor: by, Key: key},
		Job: event.Job{
			Task: in.Task, Files: in.Files, DelegatedBy: in.SessionID, Tell: in.Tell, Policy: in.Policy, Caps: in.Caps, Resume: in.Resume, Priority: in.Priority,
			Auditor: in.Auditor, Retention: in.Retention, Attempts: in.Attempts,
		},
		Agents: in.Agents, Models: in.Models,
	}
	if w := in.Worktree; w != nil && w.Here {
		o.Here = true
	} else if w != nil {
		o.Session.Worktree = &session.NewWorktree{Branch: w.Branch, Base: w.Base, Folder: w.Folder}
	}
	return o
}

// Create makes a job, which waits for its start, and its further attempts. All are checked
// first; its errors are those of package session. With a key, a repeated request gets the
// job of the first one, and made is false; attempts that are missing are made.
func (r *Runner) Create(ctx context.Context, o Order) (info list.Info, made bool, err error) {
	all, err := o.attempts()
	if err != nil {
		return list.Info{}, false, err
	}
	for i := range all {
		if err := r.Check(ctx, &all[i]); err != nil {
			return list.Info{}, false, err
		}
		if err := r.checkUnmade(ctx, all[i], len(all)); err != nil {
			return list.Info{}, false, err
		}
	}
	if err := r.copiesFit(all[0], len(all)); err != nil {
		return list.Info{}, false, err
	}
	if err := r.holdUploads(ctx, all[0].Job); err != nil {
		return list.Info{}, false, err
	}
	for i, o := range all {
		if i == 0 {
			if info, made, err = r.createJob(ctx, o); err != nil {
				return info, made, err
			}
			continue
		}
		o.Job.AttemptOf = info.SessionID
		if _, _, err := r.createJob(ctx, o); err != nil {
			return info, made, fmt.Errorf("attempt %d was not made, those before it were: %w", i+1, err)
		}
	}
	return info, made, nil
}

// Check refuses what Create would refuse before it makes anything, and completes o.
func (r *Runner) Check(ctx context.Context, o *Order) error {
	current := r.manager.Settings()
	folder, err := current.Resolve(o.Session.Workspace)
	if err != nil {
		return state.About("workspace", err)
	}
	if err := r.check(ctx, &o.Job, folder); err != nil {
		return err
	}
	if o.Job.Policy, err = policyFor(o.Job.Policy, current, folder); err != nil {
		return state.About("policy.preset", err)
	}
	if o.Job.Caps, err = capsFor(o.Job.Caps, current.CapsFor(folder), false); err != nil {
		return err
	}
	if o.Job.Auditor, err = auditorFor(o.Job.Auditor, current, folder); err != nil {
		return state.About("auditor", err)
	}
	switch {
	case o.Here && o.Session.Worktree != nil:
		return refuse("worktree", "a job works in a working copy or in the folder itself, not in both")
	case o.Here, o.Session.Worktree != nil:
	default:
		if _, err := gitstate.Find(folder); err == nil {
			o.Session.Worktree = &session.NewWorktree{}
		}
	}
	if o.Job.Attempts > 0 && o.Session.Worktree == nil {
		return refuse("attempts", "each attempt works in its own working copy, and %s is in no repository: leave attempts out", folder)
	}
	if o.Session.Mode, err = modeFor(o.Session.Mode, current, o.Session.Agent); err != nil {
		return state.About("mode", err)
	}
	if asked := o.Session.Options; len(asked) > 0 {
		agent := cmp.Or(o.Session.Agent, current.Agents[0].Name)
		if err := checkOptions(asked, agent, r.manager.OfferedOptions(agent)); err != nil {
			return state.About("options", err)
		}
	}
	o.Job.Mode, o.Job.Model, o.Job.Options = o.Session.Mode, o.Session.Model, o.Session.Options
	if o.Session.Name == "" {
		o.Session.Name = state.FirstSentence(o.Job.Task) // of which the branch is named
	}
	return nil
}

// check refuses a job before anything is made, and looks up its attachments.
func (r *Runner) check(ctx context.Context, j *event.Job, folder string) error {
	switch {
	case strings.TrimSpace(j.Task) == "":
		return refuse("task", "a job has a task: say what is to be done")
	case len(j.Task) > mostTask:
		return refuse("task", "a task has at most %d bytes: put the rest into a file of the workspace, and name it", mostTask)
	case len(j.Files) > mostFiles:
		return refuse("files", "a task names at most %d files", mostFiles)
	}
	var attached []string
	j.Files, attached = uploadsOf(j.Files)
	for _, name := range j.Files {
		if !filepath.IsLocal(name) || !state.Printable(name) {
			return refuse("files", "%q is no path below the workspace", name)
		}
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return refuse("files", "there is no file %q in %s", name, folder)
			}
			return refuse("files", "%q cannot be looked at", name)
		}
	}
	c := j.Caps
	if min(c.WallS, c.RoundS, int64(c.Rounds), c.Tokens, c.Events, c.OutputBytes) < 0 || c.Cost < 0 {
		return refuse("caps", "a limit of a job is not negative; 0 is none")
	}
	for _, set := range []struct {
		what, value string
		values      []string
	}{
		{"resume", string(j.Resume), j.Resume.Values()}, {"policy.outside", string(j.Policy.Outside), j.Policy.Outside.Values()},
		{"policy.preset", string(j.Policy.Preset), j.Policy.Preset.Values()}, {"retention", string(j.Retention), j.Retention.Values()},
	} {
		if err := oneOf(set.what, set.value, set.values); err != nil {
			return state.About(set.what, err)
		}
	}
	if j.Tell && j.DelegatedBy == "" {
		return refuse("tell", "there is no agent to tell: name the session that delegates the job in session_id")
	}
	if id := j.DelegatedBy; id != "" {
		if _, err := r.manager.Info(ctx, id); err != nil {
			return refuse("session_id", "there is no session %q that could delegate the job", id)
		}
	}
	if err := r.attach(ctx, j, attached); err != nil {
		return state.About("files", err)
	}
	return state.About("policy.allow", allow.Check(j.Policy.Allow))
}

// refuse is an error about a field of the order.
func refuse(field, format string, args ...any) error {
	return state.About(field, fmt.Errorf("%w: %s", state.ErrInvalid, fmt.Sprintf(format, args...)))
}

func oneOf(what, value string, values []string) error {
	for _, v := range values {
		if value == v {
			return nil
		}
	}
	if value == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is one of %s", state.ErrInvalid, what, strings.Join(values, ", "))
}

// policyFor adds the list of a preset. Without one and without a list it is PresetRead.
func policyFor(p event.JobPolicy, current *settings.Hub, folder string) (event.JobPolicy, error) {
	if p.Preset == "" && len(p.Allow) == 0 {
		p.Preset = event.PresetRead
	}
	if p.Preset == "" {
		return p, nil
	}
	tests := current.TestsFor(folder)
	if p.Preset == event.PresetEditTest && len(tests) == 0 {
		return p, fmt.Errorf("%w: no test command is configured for %s: set projects.FOLDER.jobs.test_commands, or use the preset edit", state.ErrInvalid, folder)
	}
	p.Allow = append(allow.Preset(p.Preset, tests), p.Allow...)
	return p, allow.Check(p.Allow)
}

// auditorFor is the auditor of a job in a folder that asks for one.
func auditorFor(name string, current *settings.Hub, folder string) (string, error) {
	audits, _ := current.AuditsFor(folder)
	names := slices.Sorted(maps.Keys(audits.Commands))
	switch {
	case name == "" || name == audits.Always:
		return audits.Always, nil
	case len(names) == 0:
		return "", fmt.Errorf("%w: no auditor is configured for %s: set projects.FOLDER.jobs.auditors, or leave auditor out", state.ErrInvalid, folder)
	case audits.Always != "":
		return "", fmt.Errorf("%w: every job in %s has the auditor %s: leave auditor out", state.ErrInvalid, folder, audits.Always)
	}
	return name, oneOf("auditor", name, names)
}

// Retry makes a job anew that has ended, with what it was given.
func (r *Runner) Retry(ctx context.Context, id, key string, by event.Actor) (info list.Info, made bool, err error) {
	if key != "" {
		if err := state.CheckID("a new job", key); err != nil {
			return list.Info{}, false, err
		}
	}
	b, err := r.manager.Session(ctx, id)
	if err != nil {
		return list.Info{}, false, err
	}
	job, err := b.Job(ctx)
	if err != nil {
		return list.Info{}, false, err
	}
	if !job.Status.Ended() {
		return list.Info{}, false, fmt.Errorf("%w: the job is %s: cancel it first", state.ErrConflict, job.Status)
	}
	was, given := b.Info(), job.Given
	given.RetryOf, given.ScheduleID, given.Attempts, given.AttemptOf = id, "", 0, ""
	if given.Mode, err = modeFor(given.Mode, r.manager.Settings(), was.Agent); err != nil {
		return list.Info{}, false, err
	}
	again := session.CreateRequest{
		Agent: was.Agent, Mode: given.Mode, Model: given.Model, Options: given.Options, Workspace: was.Workspace, Name: state.FirstSentence(given.Task), Actor: by, Key: key,
	}
	if w := was.Worktree; w != nil {
		again.Workspace, again.Worktree = w.Of, &session.NewWorktree{Base: w.Base}
	}
	if folder, err := r.manager.Settings().Resolve(again.Workspace); err == nil { // else it is refused below
		if given.Caps, err = capsFor(given.Caps, r.manager.Settings().CapsFor(folder), true); err != nil {
			return list.Info{}, false, err
		}
	}
	o := Order{Session: again, Job: given}
	if err := r.copiesFit(o, 1); err != nil {
		return list.Info{}, false, err
	}
	return r.createJob(ctx, o)
}

// Scheduled reports whether a schedule of this id made a job that is still there.
func (r *Runner) Scheduled(id string) bool { return r.named(list.Options{Schedule: id}) }

// named reports whether o selects a job.
func (r *Runner) named(o list.Options) bool {
	o.Status, o.Jobs, o.Limit = "all", list.AnyJob, 1
	page, err := r.manager.List(o)
	return err == nil && len(page.Sessions) > 0
}

// List lists a page of jobs, newest first. status is that of a job; empty is any.
func (r *Runner) List(status event.JobStatus, o list.Options) (list.Page, error) {
	if err := oneOf("status", string(status), status.Values()); err != nil {
		return list.Page{}, err
	}
	o.Status, o.Jobs = "all", list.AnyJob
	if id := o.DelegatedBy; id != "" && !r.manager.Listed(id) && !r.named(list.Options{DelegatedBy: id}) {
		return list.Page{}, fmt.Errorf("%w: there is no session %q, and no job that one of this id delegated: give the whole id", state.ErrInvalid, id)
	}
	if id := o.AttemptsOf; id != "" && !r.named(list.Options{AttemptsOf: id}) {
		return list.Page{}, fmt.Errorf("%w: there is no job %q: give the whole id of the first attempt", state.ErrInvalid, id)
	}
	if status != "" {
		o.Jobs = status
	}
	return r.manager.List(o)
}
