// Package jobs runs jobs: it starts the sessions that wait as such in a fair order, brings
// each to its end, and lets nobody wait for it.
//
// A job is a session with a goal, a policy and an end (event.Job). What it is given, and
// each step of its life, is in the log of its session, and nowhere else: a Runner that
// starts anew reads the list of sessions and continues each job from there.
package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
)

// Settings are those of all jobs. 0 is the default.
type Settings struct {
	// AtOnce limits all jobs (4), PerAgent those of an agent and PerProject those of a
	// project (both none).
	AtOnce, PerAgent, PerProject int
	// StreamEvents is how many events of its session back a job's stream is whole (2000).
	StreamEvents int
}

// atOnce and streamEvents are the defaults of Settings.
const (
	atOnce       = 4
	streamEvents = 2000
)

// Options configure a Runner.
type Options struct {
	Manager  *session.Manager
	Settings Settings
	// MayRun reports whether the credential that made a job still may. It must not block.
	// Nil always allows.
	MayRun func(by event.Actor) bool
	Logger *slog.Logger
	// Now is the clock of the limits; nil is time.Now.
	Now func() time.Time
	// OwnersEnv is added to the environment of auditors.
	OwnersEnv []string
	// AuditBound is how long an auditor may take; 0 is 60 s.
	AuditBound time.Duration
}

// Runner runs the jobs of a hub. It is safe for concurrent use.
type Runner struct {
	manager  *session.Manager
	mayRun   func(by event.Actor) bool
	logger   *slog.Logger
	now      func() time.Time
	settings atomic.Pointer[Settings]
	auditing auditing
	changed  bell.Bell // rings when the settings changed, or a job's run is over

	mu    sync.Mutex
	line  line            // the jobs that have not ended
	going map[string]bool // those that a goroutine brings to their end
	runs  sync.WaitGroup
}

// New returns a Runner. Run runs it.
func New(o Options) *Runner {
	if o.MayRun == nil {
		o.MayRun = func(event.Actor) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Runner{manager: o.Manager, mayRun: o.MayRun, logger: o.Logger, now: o.Now, going: map[string]bool{}, line: newLine(),
		auditing: auditing{env: o.OwnersEnv, bound: cmp.Or(o.AuditBound, auditBound)}}
	r.settings.Store(&o.Settings)
	return r
}

// Configure replaces the settings. Running jobs go on.
func (r *Runner) Configure(s Settings) {
	r.settings.Store(&s)
	r.changed.Ring()
}

// StreamEvents is how many events of its session back the stream of a job is whole.
func (r *Runner) StreamEvents() int { return cmp.Or(r.settings.Load().StreamEvents, streamEvents) }

// Run starts jobs until ctx ends, and returns when no job is brought forward any more. What
// runs then is continued by the next Runner.
func (r *Runner) Run(ctx context.Context) {
	defer r.runs.Wait()
	sessions := r.manager.Changed()
	_, _, seen := r.manager.ChangesSince(0)
	r.take(r.manager.Jobs(), nil)
	for {
		own := r.changed.Listen()
		stopped, held := r.stopped(ctx)
		r.start(ctx, stopped)
		var again <-chan time.Time
		if held {
			again = time.After(lookAtBudgets)
		}
		select {
		case <-ctx.Done():
			return
		case <-own:
		case <-again:
		case <-sessions:
			sessions = r.manager.Changed()
			changed, gone, now := r.manager.ChangesSince(seen)
			seen = now
			r.take(changed, gone)
		}
	}
}

// take notes jobs that changed, and sessions that are gone.
func (r *Runner) take(changed []list.Info, gone []string) {
	changed = slices.DeleteFunc(slices.Clone(changed), func(info list.Info) bool { return info.Job == nil })
	places := r.places(changed)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, info := range changed {
		r.line.put(info, places[info.SessionID])
	}
	for _, id := range gone {
		delete(r.line.jobs, id)
	}
}

// places finds where the jobs work that are new and have no working copies of their own.
func (r *Runner) places(changed []list.Info) map[string]string {
	var look []list.Info
	r.mu.Lock()
	for _, info := range changed {
		if _, known := r.line.jobs[info.SessionID]; !known && info.Worktree == nil && !info.Job.Status.Ended() {
			look = append(look, info)
		}
	}
	r.mu.Unlock()
	places := map[string]string{}
	for _, info := range look {
		places[info.SessionID] = placeIn(info.Workspace)
	}
	return places
}

// lookAtBudgets is how often the clock is looked at while a budget holds a job: a timer does
// not see that the machine slept or that the clock was set.
const lookAtBudgets = 30 * time.Second

// stopped tells the folders of waiting jobs in which nothing begins today, because a budget
// is used up. held means that there are some.
func (r *Runner) stopped(ctx context.Context) (stopped func(folder string) bool, held bool) {
	r.mu.Lock()
	folders := map[string]bool{}
	for _, w := range r.line.jobs {
		if w.queued {
			folders[w.folder] = false
		}
	}
	r.mu.Unlock()
	for folder := range folders {
		day, err := r.manager.BudgetStops(ctx, folder)
		if err == nil && day != nil {
			folders[folder], held = true, true
		}
	}
	return func(folder string) bool { return folders[folder] }, held
}

// start begins what may begin now: first the jobs that run according to their logs, then
// those that wait, as the settings allow.
func (r *Runner) start(ctx context.Context, stopped func(folder string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.line.next(*r.settings.Load(), r.going, stopped) {
		r.going[id] = true
		r.runs.Go(func() {
			err := r.run(ctx, id)
			if err != nil && ctx.Err() == nil {
				r.logger.Error("a job could not go on", "session", id, "err", err)
				r.pause(ctx)
			}
			r.mu.Lock()
			delete(r.going, id)
			if err == nil {
				delete(r.line.jobs, id) // it has ended, which the list may not say yet
			}
			r.mu.Unlock()
			r.changed.Ring()
		})
	}
}

// pauseAfterFailure is how long a job rests whose session cannot be read or written.
const pauseAfterFailure = 5 * time.Second

func (r *Runner) pause(ctx context.Context) {
	rest := time.NewTimer(pauseAfterFailure)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
	}
}
