package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// exitParked is the exit code of job run --wait for a job that waits for a person.
const exitParked = ExitRefused

// jobLook is how often job run --wait looks.
const jobLook = time.Second

// jobVerbs are the verbs of the command job. What they need of a Program is set.
type jobVerbs struct {
	onHub  func(*cobra.Command, func(context.Context, *client.Hub, []string) error) *cobra.Command
	flag   func(*cobra.Command) // of --json
	asJSON func() bool
	print  func(any) error
	table  func([][]string) error
	words  func(string) (string, error)
	placed func(machine, folder string) (string, error)
	find   func(context.Context, *client.Hub, string) (wire.SessionInfo, error)
	out    io.Writer
}

// jobFlags are those of job run and job ls.
type jobFlags struct {
	machine, agent, folder string
	mode, model            string
	preset, status         string
	allow, files           []string
	here, park, auto, wait bool
	whole                  bool
	priority               int
	timeout                time.Duration
	caps                   event.JobCaps
	retention              string
	branch, base, auditor  string
	session, schedule      string
	attempts               int
	agents, models         []string
	options                []string
	tell                   string
}

func (v jobVerbs) command() *cobra.Command {
	var f jobFlags
	cmd := v.onHub(&cobra.Command{
		Use:   "job run TASK | ls | show ID | events ID | cancel ID | retry ID | attempts ID | discard-others ID",
		Short: "Run work to its end without a person",
		Long: "A job is a session with a task, a policy and an end, which nobody has to watch. run makes one and prints its id; a task\n" +
			"of - is read from stdin. Its agent may read; --preset edit lets it edit files, too, and edit_test run the project's test\n" +
			"commands. --allow adds a kind of action, with a path or, for execute, a command: edit:src, 'execute:npm test',\n" +
			"'execute:go test *'. What is outside is refused. It works in a working copy of the folder's repository, unless --here.\n" +
			"With --wait it exits with 0 when the job is completed, 1 when it failed or was cancelled, 4 when it waits for a person, and 5\n" +
			"after --timeout. events prints what happens in a job until it has ended; it says of a long one the status and the\n" +
			"checkpoints first, with --whole all. With --attempts several jobs attempt the task, each in a working copy of its\n" +
			"own: attempts compares them, `abide branch ID merge` merges one, and discard-others cancels and discards the rest.",
		Example: "abide job run --preset edit 'fix the typos in docs'\nabide job ls --status running\nabide job show 9f3a\nabide job cancel 9f3a",
		Args:    jobArgs,
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		id := ""
		if len(args) == 2 && args[0] != "run" {
			s, err := v.find(ctx, hub, args[1])
			if err != nil {
				return err
			}
			id = s.SessionID
		}
		switch args[0] {
		case "run":
			return v.run(ctx, hub, f, args[1])
		case "ls":
			return v.list(ctx, hub, f)
		case "show":
			job, err := hub.Job(ctx, id)
			return v.show(job, err)
		case "events":
			return v.events(ctx, hub, id, f.whole)
		case "cancel":
			job, err := hub.CancelJob(ctx, id)
			return v.line(job, err)
		case "attempts":
			return v.attempts(ctx, hub, id)
		case "discard-others":
			return v.discardOthers(ctx, hub, id)
		default:
			job, err := hub.RetryJob(ctx, id, rand.Text())
			return v.line(job, err)
		}
	})
	f.define(cmd, "run")
	flags := cmd.Flags()
	flags.StringVar(&f.machine, "machine", "", "with run, make it on the machine called `NAME`, among its agents and folders; with ls, list its jobs")
	flags.IntVar(&f.attempts, "attempts", 0, "with run, let `N` jobs attempt the task, at most 4, each in a working copy of its own")
	flags.StringSliceVar(&f.agents, "agents", nil, "with run --attempts, the agents `A,B` in turn")
	flags.StringSliceVar(&f.models, "models", nil, "with run --attempts, the models `M,N` in turn")
	flags.StringVar(&f.tell, "tell", "", "with run, tell the agent of session `ID`, which delegates the job, how it ended")
	flags.BoolVar(&f.wait, "wait", false, "with run, wait until it has ended or waits for a person")
	flags.DurationVar(&f.timeout, "timeout", 0, "with --wait, wait `T` at most")
	flags.BoolVar(&f.whole, "whole", false, "with events, print what is older than the hub's jobs.stream_events, too")
	flags.StringVar(&f.status, "status", "", "with ls, list jobs that are `S`: queued, running, parked, completed, failed, cancelled")
	flags.StringVar(&f.session, "session", "", "with ls, list jobs that session `ID` delegated")
	flags.StringVar(&f.schedule, "schedule", "", "with ls, list jobs that schedule `ID` made")
	v.flag(cmd)
	return cmd
}

// define adds the flags of a new job to a command, for one of its verbs.
func (f *jobFlags) define(cmd *cobra.Command, verb string) {
	flags, with := cmd.Flags(), "with "+verb+", "
	flags.StringVar(&f.agent, "agent", "", with+"the configured agent `A`")
	flags.StringVar(&f.folder, "folder", "", with+"work on folder `F` (default: the current one; with --hub, the hub's default)")
	flags.StringVar(&f.mode, "mode", "", with+"begin in mode `M` of the agent")
	flags.StringVar(&f.model, "model", "", with+"begin with model `M` of the agent")
	flags.StringArrayVar(&f.options, "option", nil, with+"begin with option `K=V` of the agent: true, false or a word; may be given again")
	flags.StringVar(&f.preset, "preset", "", with+"what the agent may do: read, edit or edit_test")
	flags.StringArrayVar(&f.allow, "allow", nil, with+"allow `KIND[:PATH or COMMAND]`; may be given again")
	flags.StringArrayVar(&f.files, "file", nil, with+"name `FILE` of the folder in the task; may be given again")
	flags.BoolVar(&f.park, "park", false, with+"wait for a person where something is not allowed")
	flags.BoolVar(&f.auto, "auto", false, with+"go on after an interruption where nothing has to be confirmed")
	flags.BoolVar(&f.here, "here", false, with+"work in the folder itself")
	flags.StringVar(&f.branch, "branch", "", with+"call the new branch `B`")
	flags.StringVar(&f.base, "base", "", with+"begin at the branch, tag or commit `REF`")
	flags.IntVar(&f.priority, "priority", 0, with+"start before jobs with less than `N`")
	flags.Int64Var(&f.caps.WallS, "max-seconds", 0, with+"end it after `N` seconds")
	flags.IntVar(&f.caps.Rounds, "max-rounds", 0, with+"end it after `N` rounds")
	flags.Int64Var(&f.caps.Tokens, "max-tokens", 0, with+"end it at `N` tokens")
	flags.Float64Var(&f.caps.Cost, "max-cost", 0, with+"end it at a cost of `N`")
	flags.StringVar(&f.auditor, "auditor", "", with+"the project's auditor `NAME` judges the job and its result")
	flags.StringVar(&f.retention, "keep", "", with+"put it into the trash when it ended `T` ago: 24h, 168h or forever")
}

func jobArgs(_ *cobra.Command, args []string) error {
	want := map[string]int{"run": 2, "ls": 1, "show": 2, "events": 2, "cancel": 2, "retry": 2, "attempts": 2, "discard-others": 2}
	if len(args) == 0 || want[args[0]] != len(args) {
		return fmt.Errorf("job takes run TASK, ls, show ID, events ID, cancel ID, retry ID, attempts ID or discard-others ID")
	}
	return nil
}

// request is the new job that the flags ask for.
func (f jobFlags) request(task, folder string) (wire.NewJob, error) {
	options, err := optionsOf(f.options)
	if err != nil {
		return wire.NewJob{}, err
	}
	j := wire.NewJob{
		Machine: f.machine, Agent: f.agent, Workspace: folder, Mode: f.mode, Model: f.model, Options: options, Task: task, Files: f.files, Caps: f.caps, Priority: f.priority, Auditor: f.auditor, Retention: event.JobRetention(f.retention),
		Attempts: f.attempts, Agents: f.agents, Models: f.models,
		Policy: event.JobPolicy{Preset: event.JobPreset(f.preset)},
	}
	for _, text := range f.allow {
		kind, of, _ := strings.Cut(text, ":")
		a := event.Allowed{Kind: event.ToolKind(kind), Path: of}
		if kind == "execute" {
			a.Path, a.Command = "", of
		}
		j.Policy.Allow = append(j.Policy.Allow, a)
	}
	if f.park {
		j.Policy.Outside = event.OutsidePark
	}
	if f.auto {
		j.Resume = event.JobAuto
	}
	switch {
	case f.here && f.branch+f.base != "":
		return j, Usagef("--here makes no branch")
	case f.here:
		j.Worktree = &wire.JobPlace{Here: true}
	case f.branch+f.base != "":
		j.Worktree = &wire.JobPlace{Branch: f.branch, Base: f.base}
	}
	return j, nil
}

func (v jobVerbs) run(ctx context.Context, hub *client.Hub, f jobFlags, task string) error {
	task, err := v.words(task)
	if err != nil {
		return err
	}
	folder, err := v.placed(f.machine, f.folder)
	if err != nil {
		return err
	}
	request, err := f.request(task, folder)
	if err != nil {
		return err
	}
	if f.tell != "" {
		s, err := v.find(ctx, hub, f.tell)
		if err != nil {
			return err
		}
		request.SessionID, request.Tell = s.SessionID, true
	}
	job, err := hub.CreateJob(ctx, rand.Text(), request)
	if err != nil || !f.wait {
		if err == nil && !v.asJSON() {
			_, err = fmt.Fprintln(v.out, job.JobID)
			return err
		}
		return v.line(job, err)
	}
	if f.attempts > 1 {
		return v.waitForAll(ctx, hub, job.JobID, f.timeout)
	}
	return v.wait(ctx, hub, job.JobID, f.timeout)
}

// wait returns when the job has ended or waits for a person, or after a time.
func (v jobVerbs) wait(ctx context.Context, hub *client.Hub, id string, limit time.Duration) error {
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	clock := time.NewTicker(jobLook)
	defer clock.Stop()
	for {
		job, err := hub.Job(ctx, id)
		if err != nil {
			return err
		}
		code := ExitFailed
		switch job.Status {
		case event.JobCompleted:
			return v.show(job, nil)
		case event.JobFailed, event.JobCancelled:
		case event.JobParked:
			code = exitParked
		default:
			select {
			case <-clock.C:
				continue
			case <-over:
				code = ExitTimeout
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := v.show(job, nil); err != nil {
			return err
		}
		return Status(code)
	}
}

func (v jobVerbs) list(ctx context.Context, hub *client.Hub, f jobFlags) error {
	which := client.JobFilter{Status: event.JobStatus(f.status), Session: f.session, Schedule: f.schedule, Machine: f.machine}
	if f.session != "" {
		if s, err := v.find(ctx, hub, f.session); err == nil { // one that is gone may have jobs
			which.Session = s.SessionID
		}
	}
	if f.schedule != "" {
		if s, err := scheduleOf(ctx, hub, f.schedule); err == nil {
			which.Schedule = s.ScheduleID
		}
	}
	all := wire.Jobs{Jobs: []wire.JobInfo{}}
	for {
		page, err := hub.Jobs(ctx, which, all.NextCursor)
		if err != nil {
			return err
		}
		all.Jobs = append(all.Jobs, page.Jobs...)
		if all.NextCursor = page.NextCursor; page.NextCursor == "" {
			break
		}
	}
	if v.asJSON() {
		return v.print(all)
	}
	var rows [][]string
	for _, j := range all.Jobs {
		rows = append(rows, []string{j.JobID, string(j.Status), counted(j.Rounds, "round"), plain.Line(j.Agent), plain.Line(j.Title), plain.Line(j.Last)})
	}
	return v.table(rows)
}

func (v jobVerbs) line(job wire.JobInfo, err error) error {
	if err != nil {
		return err
	}
	if v.asJSON() {
		return v.print(job)
	}
	_, err = fmt.Fprintln(v.out, job.JobID, job.Status)
	return err
}

func (v jobVerbs) show(job wire.JobInfo, err error) error {
	if err != nil || v.asJSON() {
		if err == nil {
			err = v.print(job)
		}
		return err
	}
	rows := [][]string{{"job", job.JobID}, {"status", string(job.Status)}, {"task", plain.Line(job.Title)}, {"agent", plain.Line(job.Agent)}, {"folder", plain.Line(job.Repo)}}
	for _, row := range [][]string{
		{"branch", plain.Line(job.Branch)}, {"why", plain.Line(cmp.Or(job.Error, job.Waits))}, {"last", plain.Line(job.Last)}, {"keep", string(job.Retention)},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	if l := job.Lock; l != nil {
		rows = append(rows, []string{"works in", plain.Line(strings.TrimSpace(l.Repository + " " + l.Branch))})
	}
	if u := job.Usage; u != nil {
		rows = append(rows, []string{"used", fmt.Sprintf("%s, %d tokens, %d events", counted(u.Rounds, "round"), u.Tokens, u.Events)})
	}
	if job.Changed > 0 {
		rows = append(rows, []string{"changed", counted(job.Changed, "file")})
	}
	if job.NoDiff != "" {
		rows = append(rows, []string{"changed", "not known: " + plain.Line(job.NoDiff)})
	}
	if job.Refused > 0 {
		rows = append(rows, []string{"refused", counted(job.Refused, "action") + " that the policy does not allow"})
	}
	for _, text := range job.Unheld {
		rows = append(rows, []string{"not held", plain.Line(text)})
	}
	for _, verdict := range job.Verdicts {
		rows = append(rows, []string{"auditor", plain.Line(verdict.Words())})
	}
	for _, c := range job.FailedCommands {
		rows = append(rows, []string{"failed", plain.Line(c)})
	}
	for _, c := range job.Tests {
		if !c.Failed {
			rows = append(rows, []string{"tested", plain.Line(c.Command)})
		}
	}
	if err := v.table(rows); err != nil {
		return err
	}
	diff := plain.Text(job.Diff)
	if job.DiffCut {
		diff += "\n(The diff is longer: it is cut here.)"
	}
	for _, text := range []string{plain.Text(job.ResultSummary), diff} {
		if text == "" {
			continue
		}
		if _, err := fmt.Fprintf(v.out, "\n%s\n", text); err != nil {
			return err
		}
	}
	return nil
}
