package session

import (
	"log/slog"
	"time"

	"github.com/abidehub/abide/session/event"
)

// How often a session polls for changes that raise no signal.
const (
	probeInterval    = time.Second            // whether a blocked log can be written again
	progressInterval = 250 * time.Millisecond // how often mere streaming moves the session list
)

// hub is the part of the manager that an engine uses.
type hub struct {
	start    StartAgent
	settings func() *Settings
	pool     *agentPool
	rules    *ruleBook
	mayRule  func(by event.Actor, sessionID string) bool
	reads    *ReadMarks
	inspect  InspectWorkspace
	numbers  *resumeNumbers
	uploads  *uploadDays
	// touched says that a session's line in the list changed.
	touched func(id string)
	logger  *slog.Logger
}

// engine is the goroutine that owns a session. Jobs from the mailbox, alarms and
// bells make something happen; after each of them proceed looks at the state and
// does the next steps. Its parts are types of their own, called from its goroutine.
type engine struct {
	journal
	helpers helpers
	alarm   *time.Timer
	turn    turnRun // the open turn; its parts below share it

	agent      agentSlot
	questions  questions
	guard      settingsGuard
	restorer   restorer
	workspaces workspaceWatcher
	turns      turns
	intake     intake
	resumes    resumer
	output     agentOutput
	recording  recording
	listing    listing
	folds      foldCache
	unsaved    unsavedQueue
	present    presenceClock
	ended      bool
}

// newEngine joins the parts of a recovered session. Each knows only the parts that it
// calls; the ones that end a turn know no more of turns than that.
func newEngine(j journal, named bool, folded event.Seq) *engine {
	e := &engine{journal: j, helpers: helpers{b: j.b}}
	log, agent, turn, helpers := &e.journal, &e.agent, &e.turn, &e.helpers
	e.agent = agentSlot{journal: log, seat: newSeat(), helpers: helpers, turn: turn, ends: &e.turns, status: AgentAbsent}
	e.questions = questions{journal: log, agent: agent, turn: turn}
	e.guard = settingsGuard{journal: log, agent: agent, turn: turn, helpers: helpers, ends: &e.turns}
	e.restorer = restorer{journal: log, agent: agent, turn: turn, helpers: helpers, questions: &e.questions, ends: &e.turns}
	e.workspaces = workspaceWatcher{journal: log, turn: turn, helpers: helpers}
	e.turns = turns{
		journal: log, agent: agent, turn: turn,
		questions: &e.questions, guard: &e.guard, restorer: &e.restorer, workspaces: &e.workspaces,
	}
	e.intake = intake{journal: log, agent: agent, turns: &e.turns}
	e.resumes = resumer{journal: log, agent: agent, turn: turn, turns: &e.turns, helpers: helpers}
	e.output = agentOutput{journal: log, agent: agent, turn: turn, turns: &e.turns, restorer: &e.restorer, questions: &e.questions}
	e.recording = recording{journal: log, turn: turn}
	e.listing = listing{journal: log, agent: agent, named: named}
	e.folds = foldCache{journal: log, kept: folded}
	return e
}

// run is the engine. It returns when the session was closed and its agent is
// gone.
func (e *engine) run() {
	defer close(e.b.gone)
	defer e.helpers.wait()
	defer close(e.b.done) // helpers that still want to report need not
	e.alarm = time.NewTimer(0)
	defer e.alarm.Stop()
	for !e.ended {
		select {
		case job := <-e.b.mail:
			job(e)
		case <-e.b.watchers.changed.C():
			e.present.stale = true
		case <-e.agent.seat.bell.C():
		case <-e.alarm.C:
		}
		e.proceed()
		e.publish()
		e.setAlarm()
	}
	e.hub.pool.release(e.agent.seat)
	// A goroutine that waits to hand over the agent's last events learns that the
	// engine has ended.
	e.agent.detach()
}

// proceed does everything that is due. It may be called at any time: it looks at
// the state, not at the last event. It also does the steps that become due by its
// own ones, such as the next prompt after the end of a turn.
func (e *engine) proceed() {
	now := time.Now()
	e.wakeAt = time.Time{}
	e.present.watch(&e.journal, now)
	dirty := e.dirty
	for passes := 0; ; passes++ {
		e.dirty = false
		e.pass(now)
		if !e.dirty {
			break
		}
		dirty = true
		if passes == maxPasses {
			e.wake(now) // others in the mailbox come first
			break
		}
	}
	e.dirty = dirty
	e.listing.keep(now)
	e.folds.keep(e.ended)
}

// maxPasses bounds how long proceed keeps the mailbox waiting.
const maxPasses = 10

// pass does the steps that are due, and marks the state as dirty if one changed it.
func (e *engine) pass(now time.Time) {
	e.probeLog(now)
	e.unsaved.probe(&e.journal, now)
	if e.fold.recorder.Open || e.imported {
		e.passRecorded(now)
		return
	}
	e.agent.watch(now)
	e.questions.watchRequests(now)
	switch {
	case e.closing:
		e.windDown()
	case e.health.broken():
	case e.fold.open:
		e.turns.watch(now)
	default:
		e.resumes.auto()
		e.turns.takeNext(now)
	}
	e.agent.rest(now)
}

// passRecorded is pass while a program records the session: the hub only waits for
// it, and at its own end leaves open calls open.
func (e *engine) passRecorded(now time.Time) {
	switch {
	case e.closing:
		e.list.changed, e.list.flush, e.ended = true, true, true
	case !e.health.broken() && !e.imported:
		e.recording.watch(now)
	}
}

func (e *engine) setAlarm() {
	if e.wakeAt.IsZero() {
		e.alarm.Stop()
		return
	}
	e.alarm.Reset(time.Until(e.wakeAt))
}
