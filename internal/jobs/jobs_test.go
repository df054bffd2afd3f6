package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/allow"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/journal/memory"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// hub is a session manager with a runner.
type hub struct {
	*testing.T
	device  *memory.Device
	manager *session.Manager
	runner  *jobs.Runner
	cast    *cast
	folder  string
	stop    func()
	ahead   time.Duration // see later
}

type options struct {
	caps   map[string]event.JobCaps // by folder
	device *memory.Device
	cast   *cast
	jobs.Settings
	now    func() time.Time
	folder string
	mayRun func(event.Actor) bool
	idle   bool // the runner does not run
	git    *gitstate.Git
	copies string // where working copies are made
	kept   string // see states
	audits settings.Audits
	bound  time.Duration    // of auditors
	agent  settings.Agent   // the first
	clock  func() time.Time // of uploads and retention
	sweep  time.Duration    // how often these are looked at
	trash  time.Duration    // how long what is deleted can be restored
	limits settings.Limits
	budget *settings.Budget // of the folder
}

// states is where the hub keeps states of files.
func (o *options) states(t *testing.T) string {
	if o.kept == "" {
		o.kept = t.TempDir()
	}
	return o.kept
}

// inRepository makes the folder a repository with a commit of a.txt and b.txt.
func (o *options) inRepository(t *testing.T) {
	t.Helper()
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	root := t.TempDir()
	o.git, o.folder, o.copies = git, filepath.Join(root, "project"), filepath.Join(root, "copies")
	require.NoError(t, os.MkdirAll(o.folder, 0o755))
	for _, name := range []string{"a.txt", "b.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(o.folder, name), []byte("old\n"), 0o644))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", append([]string{"-C", o.folder, "-c", "user.name=ann", "-c", "user.email=ann@localhost"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func start(t *testing.T, o options) *hub {
	t.Helper()
	if o.device == nil {
		o.device = memory.NewDevice()
	}
	if o.cast == nil {
		o.cast = newCast()
	}
	if o.folder == "" {
		o.folder = t.TempDir()
	}
	o.agent.Name = "player"
	budgets := map[string]settings.Budget{}
	if o.budget != nil {
		budgets[o.folder] = *o.budget
	}
	manager, err := session.NewManager(session.Options{
		Budgets: budgets,
		Store:   o.device.Open(), StartAgent: o.cast.start, Strict: true,
		Agents: []settings.Agent{o.agent, {Name: "other"}, {Name: "third"}, {Name: "fourth"}}, Workspaces: []string{o.folder}, DefaultWorkspace: o.folder,
		States: filestate.New(o.git, o.states(t), nil, slog.New(slog.DiscardHandler)),
		Limits: o.limits, Now: o.clock, SweepEvery: o.sweep, TrashFor: o.trash, Git: o.git, Worktrees: settings.Worktrees{Folder: o.copies}, Audits: map[string]settings.Audits{o.folder: o.audits}, JobCaps: o.caps,
	})
	require.NoError(t, err)
	h := &hub{T: t, device: o.device, manager: manager, cast: o.cast, folder: o.folder}
	h.runner = jobs.New(jobs.Options{Manager: manager, Settings: o.Settings, Now: o.now, MayRun: o.mayRun, AuditBound: o.bound})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if !o.idle {
			h.runner.Run(ctx)
		}
	}()
	var stopped atomic.Bool
	h.stop = func() {
		if stopped.Swap(true) {
			return
		}
		cancel()
		<-over
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, manager.Close(ctx))
	}
	t.Cleanup(h.stop)
	return h
}

// anything allows reading and editing in the workspace.
func anything() event.JobPolicy {
	return event.JobPolicy{Preset: event.PresetEdit, Allow: allow.Preset(event.PresetEdit, nil)}
}

func (h *hub) job(job event.Job, change ...func(*session.CreateRequest)) string {
	h.Helper()
	r := session.CreateRequest{Agent: "player", Workspace: h.folder, Actor: event.Actor{Name: "ann", ID: "1"}}
	for _, c := range change {
		c(&r)
	}
	if job.Policy.Allow == nil {
		job.Policy = anything()
	}
	info, made, err := h.manager.CreateJob(context.Background(), r, job)
	require.NoError(h, err)
	require.True(h, made)
	return info.SessionID
}

// line is the job in the list of sessions.
func (h *hub) line(id string) list.Info {
	h.Helper()
	for _, info := range h.manager.Jobs() {
		if info.SessionID == id {
			return info
		}
	}
	h.Fatalf("job %s is not in the list", id)
	return list.Info{}
}

// until waits for a job that is as wanted.
func (h *hub) until(id string, as func(event.JobLine) bool) event.JobLine {
	h.Helper()
	deadline := time.After(patience)
	for {
		changed := h.manager.Changed()
		if line := *h.line(id).Job; as(line) {
			return line
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(h, "the job is not as wanted", "%+v\n%s", *h.line(id).Job, h.log(id))
		}
	}
}

func (h *hub) ended(id string) event.JobLine {
	h.Helper()
	return h.until(id, func(l event.JobLine) bool { return l.Status.Ended() })
}

// given waits until the job's agent has the task: a job runs a moment before.
func (h *hub) given(id string) {
	h.Helper()
	h.until(id, is(event.JobRunning))
	require.Eventually(h, func() bool { return h.count(id, event.TypeTurnStart, "", "") > 0 }, patience, time.Millisecond)
}

func is(status event.JobStatus) func(event.JobLine) bool {
	return func(l event.JobLine) bool { return l.Status == status }
}

// events are those of a job's log.
func (h *hub) events(id string) (all []event.Event) {
	h.Helper()
	b, err := h.manager.Session(context.Background(), id)
	require.NoError(h, err)
	for after := event.Seq(0); ; {
		batch, err := b.Log().ReadAfter(context.Background(), after, 1<<30)
		require.NoError(h, err)
		if batch.Empty() {
			return all
		}
		var events []event.Event
		require.NoError(h, json.Unmarshal(fmt.Appendf(nil, "[%s]", batch.JSON), &events))
		all = append(all, events...)
		after = batch.Last
	}
}

func (h *hub) log(id string) (text string) {
	for _, e := range h.events(id) {
		text += fmt.Sprintf("%d %s %s\n", e.Seq, e.Type, e.Data)
	}
	return text
}

// count counts the events of a type whose data has a member with this value.
func (h *hub) count(id string, typ event.Type, name, value string) (n int) {
	h.Helper()
	for _, e := range h.events(id) {
		var data map[string]any
		require.NoError(h, json.Unmarshal(e.Data, &data))
		if e.Type == typ && (name == "" || fmt.Sprint(data[name]) == value) {
			n++
		}
	}
	return n
}

func jsonOf(t *testing.T, raw json.RawMessage) (data map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &data))
	return data
}

func TestAJobRunsToItsEnd(t *testing.T) {
	h := start(t, options{})
	id := h.job(event.Job{Task: "edit a.txt\nedit b.txt\nsay Both are edited."})
	line := h.ended(id)
	require.Equal(t, event.JobCompleted, line.Status)
	require.Equal(t, 2, line.Rounds)
	require.NotNil(t, line.StartedAt)
	require.NotNil(t, line.FinishedAt)
	require.Equal(t, state.StatusEnded, h.line(id).Status)
	require.Equal(t, "edit a.txt", h.line(id).Name)

	require.Equal(t, 1, h.count(id, event.TypeUserPrompt, "", ""))
	require.Equal(t, 2, h.count(id, event.TypePermissionOutcome, "option_id", "yes"))
	require.Equal(t, 2, h.count(id, event.TypeNote, "method", state.NoteCheckpoint))
	require.Equal(t, 1, h.count(id, event.TypeSessionEnd, "", ""))
	var end event.SessionEnd
	for _, e := range h.events(id) {
		if e.Type == event.TypeSessionEnd {
			require.NoError(t, json.Unmarshal(e.Data, &end))
		}
	}
	require.JSONEq(t, `{"status":"completed","summary":"Both are edited."}`, string(end.Result))
}

func TestAnActionOutsideOfThePolicyIsRefusedOrWaitsForAPerson(t *testing.T) {
	h := start(t, options{})
	require.NoError(t, os.Symlink("/etc", filepath.Join(h.folder, "out")))
	id := h.job(event.Job{Task: "edit ../up.txt\nedit /etc/passwd\nedit out/passwd\nrun make\nsay done"})
	require.Equal(t, event.JobCompleted, h.ended(id).Status)
	require.Equal(t, 4, h.count(id, event.TypePermissionOutcome, "option_id", "no"))
	require.Zero(t, h.count(id, event.TypePermissionOutcome, "option_id", "yes"))
	job, err := h.runner.Info(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 4, job.Refused)

	parked := anything()
	parked.Outside = event.OutsidePark
	id = h.job(event.Job{Task: "run make\nsay made", Policy: parked})
	require.Contains(t, h.until(id, is(event.JobParked)).Reason, "execute")
	b, err := h.manager.Session(t.Context(), id)
	require.NoError(t, err)
	_, err = b.AnswerPermission(t.Context(), session.Answer{PermissionID: b.State().PendingPermissions[0], OptionID: "yes", Actor: event.Actor{Name: "ann"}})
	require.NoError(t, err)
	require.Equal(t, event.JobCompleted, h.ended(id).Status)
	require.Equal(t, 1, h.count(id, event.TypePermissionOutcome, "by", "ann"))
}

func TestACancelledJobStartsNoMore(t *testing.T) {
	h := start(t, options{Settings: jobs.Settings{AtOnce: 1}})
	first := h.job(event.Job{Task: "hold"})
	h.given(first)
	second := h.job(event.Job{Task: "say second"})
	by := event.Actor{Name: "ann", ID: "1"}
	require.NoError(t, h.runner.Cancel(t.Context(), second, by))
	require.Equal(t, event.JobCancelled, h.ended(second).Status)
	require.Zero(t, h.count(second, event.TypeUserPrompt, "", ""))

	require.NoError(t, h.runner.Cancel(t.Context(), first, by))
	require.NoError(t, h.runner.Cancel(t.Context(), first, by))
	require.Equal(t, event.JobCancelled, h.ended(first).Status)
	require.Equal(t, 1, h.count(first, event.TypeTurnEnd, "by", "ann"))
	require.NoError(t, h.runner.Cancel(t.Context(), first, by), "a repeated one changes nothing")
}

func TestACapEndsAJobWithWhatItDid(t *testing.T) {
	hour := time.Now()
	for name, job := range map[string]event.Job{
		"rounds":       {Task: "edit a.txt\nedit b.txt\nedit c.txt\nhold", Caps: event.JobCaps{Rounds: 2}},
		"tokens":       {Task: "edit a.txt\nuse 2000\nhold", Caps: event.JobCaps{Tokens: 1000}},
		"wall_s":       {Task: "edit a.txt\nhold", Caps: event.JobCaps{WallS: 60}},
		"events":       {Task: "edit a.txt\nhold", Caps: event.JobCaps{Events: 8}},
		"output_bytes": {Task: "edit a.txt\nsay " + fmt.Sprint(make([]byte, 100)) + "\nhold", Caps: event.JobCaps{OutputBytes: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			var late atomic.Bool
			h := start(t, options{now: func() time.Time {
				if late.Load() {
					return hour.Add(time.Hour)
				}
				return time.Now()
			}})
			id := h.job(job)
			h.until(id, func(l event.JobLine) bool { return l.Status != event.JobQueued })
			late.Store(name == "wall_s")
			line := h.ended(id)
			require.Equal(t, event.JobCancelled, line.Status)
			require.Contains(t, line.Reason, "("+name+")")
			require.Equal(t, 1, h.count(id, event.TypeSessionEnd, "", ""))
		})
	}
}

func TestAnErrorOfTheProviderIsFollowedByAFewMoreAttempts(t *testing.T) {
	for _, c := range []struct {
		errors int
		status event.JobStatus
	}{{2, event.JobCompleted}, {9, event.JobFailed}} {
		cast := newCast()
		cast.errors = c.errors
		var ahead atomic.Int64
		h := start(t, options{cast: cast, now: func() time.Time { return time.Now().Add(time.Duration(ahead.Add(1)) * time.Minute) }})
		id := h.job(event.Job{Task: "say done"})
		line := h.ended(id)
		require.Equal(t, c.status, line.Status, line.Reason)
		if c.status == event.JobFailed {
			require.Equal(t, "overloaded", line.Reason)
			require.Equal(t, 4, h.count(id, event.TypeTurnEnd, "", ""))
		}
	}
}

func TestAJobThatTriesAgainAfterAPauseWaitsForNobody(t *testing.T) {
	cast := newCast()
	cast.errors = 1
	var step, late atomic.Int64 // the clock stands, and then goes a minute each time it is read
	h := start(t, options{cast: cast, now: func() time.Time { return time.Unix(1e9+late.Add(step.Load()), 0) }})
	id := h.job(event.Job{Task: "say done"})
	words := map[state.Status]bool{}
	h.until(id, func(l event.JobLine) bool {
		require.NotEqual(t, event.JobParked, l.Status)
		if l.StartedAt != nil {
			words[h.line(id).Status] = true
		}
		return h.count(id, event.TypeTurnEnd, "", "") == 1
	})
	require.Equal(t, event.JobRunning, h.line(id).Job.Status)
	require.Equal(t, state.StatusRunning, h.line(id).Status, "also of its session")
	require.Equal(t, state.LifecycleActive, h.line(id).Lifecycle)
	for status, n := range map[state.Status]int{state.StatusRunning: 1, state.StatusInterrupted: 0} {
		page, err := h.manager.List(list.Options{Status: string(status)})
		require.NoError(t, err)
		require.Len(t, page.Sessions, n, status)
	}
	require.NotContains(t, words, state.StatusInterrupted)
	step.Store(60)
	require.Equal(t, event.JobCompleted, h.ended(id).Status)
}

func TestAJobThatCannotTryAgainByItselfIsParkedAndSaysWhy(t *testing.T) {
	cast := newCast()
	cast.errors = 1
	var step, late atomic.Int64 // the clock stands, and then goes a minute each time it is read
	h := start(t, options{cast: cast, now: func() time.Time { return time.Unix(1e9+late.Add(step.Load()), 0) }})
	folder := filepath.Join(h.folder, "gone")
	require.NoError(t, os.Mkdir(folder, 0o755))
	id := h.job(event.Job{Task: "say done"}, inFolder(folder))
	h.until(id, func(event.JobLine) bool { return h.count(id, event.TypeTurnEnd, "", "") == 1 })
	require.NoError(t, os.Remove(folder))
	step.Store(60)
	line := h.until(id, is(event.JobParked))
	require.Equal(t, "overloaded. It could not try again by itself: confirm what has changed since: workspace.", line.Reason)
	require.Equal(t, 1, h.count(id, event.TypeTurnEnd, "", ""))
}

func TestAnErrorOfTheProviderThatComesAgainFailsAtOnceWithItsWords(t *testing.T) {
	h := start(t, options{})
	id := h.job(event.Job{Task: "fail Internal error: Invalid API key"})
	line := h.until(id, func(l event.JobLine) bool {
		require.NotEqual(t, event.JobParked, l.Status)
		return l.Status.Ended()
	})
	require.Equal(t, event.JobFailed, line.Status)
	require.Equal(t, "Internal error: Invalid API key", line.Reason)
	require.Equal(t, 1, h.count(id, event.TypeTurnEnd, "", ""))
}

func TestJobsRunInAFairOrderWithinTheLimits(t *testing.T) {
	for _, s := range []jobs.Settings{{AtOnce: 1}, {AtOnce: 3, PerProject: 2}} {
		t.Run(fmt.Sprint(s.AtOnce), func(t *testing.T) { runFair(t, s) })
	}
}

func runFair(t *testing.T, s jobs.Settings) {
	h := start(t, options{idle: true})
	projects := []string{"a", "b", "c"}
	for _, p := range projects {
		require.NoError(t, os.MkdirAll(filepath.Join(h.folder, p, ".git"), 0o755))
	}
	var ids []string
	for i := range 30 {
		project := projects[0]
		if i%5 == 4 {
			project = projects[1+i/5%2]
		}
		ids = append(ids, h.job(event.Job{Task: fmt.Sprintf("say %s %d", project, i)}, func(r *session.CreateRequest) {
			r.Workspace = filepath.Join(h.folder, project)
		}))
	}
	urgent := h.job(event.Job{Task: "say urgent", Priority: 1}, func(r *session.CreateRequest) { r.Workspace = filepath.Join(h.folder, "a") })
	h.stop()

	h = start(t, options{device: h.device, cast: h.cast, folder: h.folder, Settings: s})
	for _, id := range append(ids, urgent) {
		require.Equal(t, event.JobCompleted, h.ended(id).Status)
	}
	require.LessOrEqual(t, h.cast.most, s.AtOnce)
	for task, n := range h.cast.told {
		require.Equal(t, 1, n, task)
	}
	if s.AtOnce > 1 {
		return // they begin in order, and their agents get the prompts in any
	}
	require.Equal(t, "say urgent", h.cast.order[0])
	last := map[byte]int{}
	for i, task := range h.cast.order {
		last[task[4]] = i
	}
	require.Less(t, max(last['b'], last['c']), 11, "the small projects do not wait for all of the large one: %v", h.cast.order)
}

func TestARepeatedRequestMakesOneJob(t *testing.T) {
	h := start(t, options{idle: true})
	r := session.CreateRequest{Agent: "player", Workspace: h.folder, Key: "k", Actor: event.Actor{Name: "ann", ID: "1"}}
	job := event.Job{Task: "say once", Policy: anything()}
	one, made, err := h.manager.CreateJob(t.Context(), r, job)
	require.NoError(t, err)
	require.True(t, made)
	two, made, err := h.manager.CreateJob(t.Context(), r, job)
	require.NoError(t, err)
	require.False(t, made)
	require.Equal(t, one.SessionID, two.SessionID)
	job.Task = "say another"
	_, _, err = h.manager.CreateJob(t.Context(), r, job)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "this key made job "+one.SessionID)
	require.Len(t, h.manager.Jobs(), 1)
	require.Zero(t, h.manager.EverOpened(), "a job that waits is no open session")
}

func TestAJobWhoseCredentialIsGoneDoesNotRun(t *testing.T) {
	h := start(t, options{mayRun: func(by event.Actor) bool { return by.ID != "1" }})
	id := h.job(event.Job{Task: "say never"})
	require.Equal(t, event.JobCancelled, h.ended(id).Status)
	require.Empty(t, h.cast.told)
}

// TestAJobEndsOnceHoweverOftenItsHubIsKilled copies what is on the device at any moment of
// a hub's work, and continues with a new hub on the copy.
func TestAJobEndsOnceHoweverOftenItsHubIsKilled(t *testing.T) {
	for seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(uint64(seed), 1))
			o := options{cast: newCast(), Settings: jobs.Settings{AtOnce: 2}}
			o.audits = settings.Audits{Commands: map[string][]string{"yes": {"true"}}, Always: "yes"}
			o.inRepository(t)
			h := start(t, o)
			var ids []string
			for i := range 6 {
				ids = append(ids, h.job(event.Job{Task: fmt.Sprintf("edit %d.txt\nsay %d", i, i), Resume: event.JobAuto}, inCopy))
			}
			cancelled := ids[dice.IntN(len(ids))]
			require.NoError(t, h.runner.Cancel(t.Context(), cancelled, event.Actor{Name: "ann"}))
			for range dice.IntN(5) {
				for range dice.IntN(20) {
					select {
					case <-h.manager.Changed():
					case <-time.After(10 * time.Millisecond): // nothing changes any more
					}
				}
				o.device = h.device.Copy()
				h.stop()
				h = start(t, o)
			}
			for _, id := range ids {
				line := h.ended(id)
				require.Contains(t, []event.JobStatus{event.JobCompleted, event.JobCancelled}, line.Status, h.log(id))
				if id != cancelled {
					require.Equal(t, event.JobCompleted, line.Status, h.log(id))
				}
				require.Equal(t, 1, h.count(id, event.TypeSessionEnd, "", ""), h.log(id))
				require.LessOrEqual(t, h.count(id, event.TypeNote, "method", state.NoteJobAnswer), 1, h.log(id))
				require.LessOrEqual(t, h.count(id, event.TypeUserPrompt, "prompt_id", "job-"+id), 1, h.log(id))
				if verdicts := h.count(id, event.TypeNote, "method", state.NoteJobVerdict); line.Status == event.JobCompleted {
					require.Equal(t, 1+h.count(id, event.TypeTurnEnd, "stop_reason", "end_turn"), verdicts, h.log(id))
				} else {
					require.LessOrEqual(t, verdicts, 2, h.log(id))
				}
			}
			copies, err := h.manager.Worktrees(t.Context())
			require.NoError(t, err)
			for _, c := range copies {
				require.Len(t, c.Sessions, 1, c.Folder)
				require.False(t, c.Unfinished, c.Folder)
			}
		})
	}
}

// inCopy asks for a working copy.
func inCopy(r *session.CreateRequest) { r.Worktree = &session.NewWorktree{} }

func TestTheWorkingCopyOfAJobIsMadeAtItsStart(t *testing.T) {
	o := options{idle: true}
	o.inRepository(t)
	h := start(t, o)
	order := func(w session.NewWorktree) (string, error) {
		info, _, err := h.runner.Create(t.Context(), jobs.Order{
			Session: session.CreateRequest{Workspace: o.folder, Mode: "plan", Worktree: &w, Actor: event.Actor{Name: "ann", ID: "1"}},
			Job:     event.Job{Task: "edit a.txt", Policy: anything()},
		})
		return info.SessionID, err
	}
	_, err := order(session.NewWorktree{Base: "nowhere"})
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = order(session.NewWorktree{Branch: "main"})
	require.ErrorIs(t, err, state.ErrConflict)
	one, err := order(session.NewWorktree{})
	require.NoError(t, err)
	two, err := order(session.NewWorktree{Branch: "two", Base: "main"})
	require.NoError(t, err)
	taken, err := order(session.NewWorktree{Branch: "two"})
	require.NoError(t, err)
	require.NoDirExists(t, o.copies+"/project/"+filepath.Base(h.line(one).Worktree.Folder))
	h.stop()

	o.device, o.idle = h.device, false
	o.Settings = jobs.Settings{AtOnce: 1}
	h = start(t, o)
	for _, id := range []string{one, two} {
		require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
		w := h.line(id).Worktree
		edited, err := os.ReadFile(filepath.Join(w.Folder, "a.txt"))
		require.NoError(t, err)
		require.Equal(t, "edited\n", string(edited))
	}
	failed := h.ended(taken)
	require.Equal(t, event.JobFailed, failed.Status)
	require.Contains(t, failed.Reason, "two")

	again, _, err := h.runner.Retry(t.Context(), one, "", event.Actor{Name: "ann", ID: "1"})
	require.NoError(t, err)
	require.Equal(t, event.JobCompleted, h.ended(again.SessionID).Status)
	_, job, err := h.runner.Job(t.Context(), again.SessionID)
	require.NoError(t, err)
	require.Equal(t, "plan", job.Given.Mode)
	require.Equal(t, 1, h.count(again.SessionID, event.TypeMode, "mode_id", "plan"))
}

func TestTheAnswerOfAJobHasItsFilesItsDiffAndItsCommands(t *testing.T) {
	var o options
	o.inRepository(t)
	h := start(t, o)
	policy := anything()
	policy.Allow = append(policy.Allow, event.Allowed{Kind: allow.Execute, Command: "true"})
	for _, place := range []func(*session.CreateRequest){inCopy, func(*session.CreateRequest) {}} {
		id := h.job(event.Job{Task: "edit a.txt\nedit new.txt\nrun make\nrun true\nsay Done.", Policy: policy}, place)
		require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
		_, job, err := h.runner.Job(t.Context(), id)
		require.NoError(t, err)
		became := job.Became
		require.NotNil(t, became, h.log(id))
		require.Equal(t, []string{"a.txt", "new.txt"}, became.Files, "%+v", became)
		require.Equal(t, 2, became.Changed)
		require.Len(t, became.Failed, 1)
		require.Contains(t, became.Failed[0], "make")
		diff, err := h.runner.Diff(t.Context(), id, became)
		require.NoError(t, err)
		require.Contains(t, diff, "-old\n+edited\n")
		require.Contains(t, diff, "+++ b/new.txt")
		b, err := h.manager.Session(t.Context(), id)
		require.NoError(t, err)
		require.NoError(t, h.manager.AnswerJob(t.Context(), b, event.JobAnswer{})) // as after a crash
		require.Equal(t, 1, h.count(id, event.TypeNote, "method", state.NoteJobAnswer))
	}
}

// seeds is how many random orders a test tries.
func seeds() int {
	if soak.On() {
		return 200
	}
	return 10
}

func TestTheSessionThatDelegatedAJobIsToldItsEndOnce(t *testing.T) {
	h := start(t, options{})
	from, err := h.manager.Create(t.Context(), session.CreateRequest{Agent: "player", Workspace: h.folder, Actor: event.Actor{Name: "ann", ID: "1"}})
	require.NoError(t, err)
	id := h.job(event.Job{Task: "say All of it.", DelegatedBy: from.ID()})
	h.ended(id)
	require.Equal(t, 1, h.count(from.ID(), event.TypeNote, "method", state.NoteJobResult))
	report := state.JobReport{JobID: id, Status: event.JobCompleted}
	require.NoError(t, from.TellJobEnd(t.Context(), report, state.TheHub()))
	require.Equal(t, 1, h.count(from.ID(), event.TypeNote, "method", state.NoteJobResult))
	require.Contains(t, h.log(from.ID()), "All of it.")
}

func TestTheAgentThatDelegatedAJobIsToldItsEndOnceIfThatIsChosen(t *testing.T) {
	var revoked atomic.Bool
	o := options{cast: newCast(), mayRun: func(event.Actor) bool { return !revoked.Load() }}
	h := start(t, o)
	from := func() *session.BackgroundSession {
		b, err := h.manager.Create(t.Context(), session.CreateRequest{Agent: "player", Workspace: h.folder, Actor: ann})
		require.NoError(t, err)
		return b
	}
	told := func(b *session.BackgroundSession, id string) int {
		return h.count(b.ID(), event.TypeUserPrompt, "prompt_id", "job-end-"+id)
	}
	b := from()
	id := h.job(event.Job{Task: "say All of it.", DelegatedBy: b.ID(), Tell: true})
	h.ended(id)
	require.Eventually(t, func() bool { return told(b, id) == 1 }, patience, time.Millisecond)
	require.Contains(t, h.log(b.ID()), `is completed.\n\nAll of it.`)

	quiet := from()
	id = h.job(event.Job{Task: "say x", DelegatedBy: quiet.ID()})
	h.ended(id)
	require.Zero(t, told(quiet, id), "it was not chosen")

	over := from()
	require.NoError(t, over.End(t.Context(), "done", ann))
	id = h.job(event.Job{Task: "say x", DelegatedBy: over.ID(), Tell: true})
	require.Equal(t, event.JobCompleted, h.ended(id).Status)
	require.Zero(t, told(over, id), "the session has ended")

	barred := from()
	id = h.job(event.Job{Task: "hold", DelegatedBy: barred.ID(), Tell: true})
	h.until(id, is(event.JobRunning))
	revoked.Store(true)
	require.NoError(t, h.runner.Cancel(t.Context(), id, ann))
	h.ended(id)
	require.Zero(t, told(barred, id), "its credential is gone")

	_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(wire.NewJob{Task: "say x", Tell: true}, ann, ""))
	require.ErrorContains(t, err, "session_id")
}

func TestAKilledHubTellsTheAgentOnce(t *testing.T) {
	o := options{cast: newCast()}
	h := start(t, o)
	b, err := h.manager.Create(t.Context(), session.CreateRequest{Agent: "player", Workspace: h.folder, Actor: ann})
	require.NoError(t, err)
	id := h.job(event.Job{Task: "say x", DelegatedBy: b.ID(), Tell: true, Resume: event.JobAuto})
	for range 200 { // a copy of the device at many moments
		select {
		case <-h.manager.Changed():
		case <-time.After(time.Millisecond): // nothing changes any more
		}
		o.device = h.device.Copy()
		if told := h.count(b.ID(), event.TypeUserPrompt, "prompt_id", "job-end-"+id); told > 0 {
			break
		}
	}
	h.stop()
	h = start(t, o)
	h.ended(id)
	require.Eventually(t, func() bool { return h.count(b.ID(), event.TypeUserPrompt, "prompt_id", "job-end-"+id) == 1 }, patience, time.Millisecond, h.log(b.ID()))
}

func TestASilentAgentIsRestartedOnceAndThenTheJobEnds(t *testing.T) {
	var ahead atomic.Int64
	h := start(t, options{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	h.cast.silent = true
	id := h.job(event.Job{Task: "hold", Caps: event.JobCaps{RoundS: 3600}})
	h.given(id)
	ahead.Store(int64(2 * time.Hour))
	line := h.ended(id)
	require.Equal(t, event.JobCancelled, line.Status)
	require.Contains(t, line.Reason, "(round_s)")
	require.Equal(t, 2, h.count(id, event.TypeTurnEnd, "", ""))
	require.Equal(t, 1, h.count(id, event.TypeTurnInterrupted, "reason", "agent_restart"))
	require.Equal(t, 1, h.count(id, event.TypeInterruptionSettled, "outcome", "resumed"))
}
