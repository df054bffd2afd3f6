package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/rule"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/slots"
	"github.com/abidehub/abide/session/snapshot"
)

// How often a session polls for changes that raise no signal.
const (
	probeInterval    = time.Second            // checks whether a blocked log can be written again
	progressInterval = 250 * time.Millisecond // updates the session list while the agent streams
)

// hub is the part of the manager that an engine uses.
type hub struct {
	start    StartAgent
	setUp    SetUp
	settings func() *settings.Hub
	pool     *slots.Pool
	rules    *rule.Book
	mayRule  func(by event.Actor, sessionID string) bool
	reads    *list.ReadMarks
	lines    list.Lines
	inspect  InspectWorkspace
	states   *filestate.Keeper // nil: there is no undo
	uploads  *uploadDays
	// snapshots saves the snapshots of sessions that changed.
	snapshots *snapshot.Saver
	budgets   *budget.Keeper
	// touched reports that a session's line in the list changed.
	touched func(id string)
	// answered is Options.RuleAnswered.
	answered func(sessionID string, o event.PermissionOutcome)
	// lost reports that another hub has the session, whose engine is closing.
	lost   func(id string)
	logger *slog.Logger
	strict bool // a bug panics
}

// engine is the goroutine that owns a session. Jobs from the mailbox, alarms and
// bells change the state. After each of them, proceed looks at the state and
// performs the next steps. The parts of an engine are separate types, called from
// its goroutine.
type engine struct {
	foldedLog
	front
	helpers helpers
	files   fileWriter
	alarm   *time.Timer
	turn    turnRun // the open turn, shared by the parts below

	agent      agentSlot
	questions  questions
	guard      settingsGuard
	restorer   restorer
	workspaces workspaceWatcher
	states     fileStates
	undos      undoer
	turns      turns
	intake     intake
	resumes    resumer
	pauses     pauser
	output     agentOutput
	recording  recording
	rounds     jobRounds
	listing    listing
	folds      foldCache
	queueFile  queueFile
	present    presenceClock
	ended      bool
}

// newEngine connects the parts of a recovered session. Each part knows only those
// that it calls. The parts that end a turn know only the turnEnder.
func newEngine(l foldedLog, at front, folded event.Seq) *engine {
	e := &engine{foldedLog: l, front: at}
	e.helpers.post = func(job func()) { e.mail.post(func(*engine) { job() }) }
	e.helpers.ended = e.mail.done
	log, agent, turn, helpers, files := &e.foldedLog, &e.agent, &e.turn, &e.helpers, &e.files
	e.files.helpers = helpers
	e.turn.bug = e.bug
	e.agent = agentSlot{foldedLog: log, slot: slots.New(), helpers: helpers, turn: turn, ends: &e.turns, status: AgentAbsent, record: e.record}
	e.questions = questions{foldedLog: log, agent: agent, turn: turn, files: files}
	e.guard = settingsGuard{foldedLog: log, agent: agent, turn: turn, helpers: helpers, ends: &e.turns}
	e.restorer = restorer{foldedLog: log, agent: agent, turn: turn, helpers: helpers, questions: &e.questions, ends: &e.turns}
	e.workspaces = workspaceWatcher{foldedLog: log, turn: turn, helpers: helpers}
	e.states = fileStates{
		of: filestate.Of{Session: l.id, Folder: l.workspace}, keeper: l.hub.states, patient: func() time.Duration { return l.hub.settings().UndoWait },
		run: &turn.files, helpers: helpers, wake: log.wake, logger: l.logger,
	}
	e.undos = undoer{log: log, fold: &log.fold, running: &log.undoing, imported: l.imported, stopAgent: func() { agent.stop(stopSleep) }, states: &e.states}
	e.turns = turns{
		foldedLog: log, agent: agent, turn: turn,
		questions: &e.questions, guard: &e.guard, restorer: &e.restorer, workspaces: &e.workspaces, files: &e.states,
		budget: budgetHold{keeper: l.hub.budgets, project: l.project, counted: func() { log.watchers.Changed.Ring() }},
	}
	e.intake = intake{foldedLog: log, agent: agent, turns: &e.turns, files: files, file: &e.queueFile}
	e.resumes = resumer{foldedLog: log, agent: agent, turn: turn, turns: &e.turns, helpers: helpers}
	e.pauses = pauser{foldedLog: log, agent: agent, turn: turn, turns: &e.turns}
	e.output = agentOutput{foldedLog: log, agent: agent, turn: turn, turns: &e.turns, restorer: &e.restorer, questions: &e.questions}
	e.rounds = jobRounds{fold: &log.fold, wake: log.wake, write: func(p event.Payload) error {
		_, err := log.write(log.entries(p)...)
		return err
	}}
	e.recording = recording{foldedLog: log, turn: turn}
	e.listing = listing{foldedLog: log, agent: agent, files: files}
	e.folds = foldCache{foldedLog: log, files: files, kept: folded}
	e.queueFile = queueFile{foldedLog: log, files: files, shown: e.shown}
	return e
}

// bug reports a step that the engine must not take. The hub's other sessions go on.
func (e *engine) bug(step string) {
	if e.hub.strict {
		panic(step)
	}
	e.logger.Error("a bug in abide: report it", "step", step)
}

// record takes an agent's output from its goroutine.
func (e *engine) record(ctx context.Context, from *sink, payloads []event.Payload, drafts []event.Draft) (done int, err error) {
	return ask(ctx, e.mail, func(e *engine) (int, error) { return e.output.record(from, payloads, drafts) })
}

// start runs the engine of a recovered session until it ends. It publishes the
// state first, because the list's line may be older than the log.
func (e *engine) start() {
	e.undos.recover()
	e.publish()
	close(e.shown.known)
	e.listing.keep(time.Now())
	if e.queue.Missing() {
		// It exists before the first prompt is in the log. A later opening that finds a
		// prompt and no file reports a loss.
		e.intake.save(e.queue.Flush(), func(error) {})
	}
	go e.run() // the closer of the session waits for gone
}

// run is the engine's loop. It returns when the session was closed and its agent
// has ended.
func (e *engine) run() {
	defer close(e.gone)
	defer e.giveBack()
	defer e.helpers.wait()
	defer close(e.mail.done) // helpers then drop their reports
	e.alarm = time.NewTimer(0)
	defer e.alarm.Stop()
	for !e.ended {
		select {
		case job := <-e.mail.jobs:
			e.do(job)
		case <-e.watchers.Changed.C():
			e.present.stale = true
		case <-e.agent.slot.Bell.C():
		case <-e.alarm.C:
		}
		e.proceed()
		e.publish()
		e.setAlarm()
	}
	e.hub.pool.Release(e.agent.slot)
	// This unblocks a goroutine that waits to deliver the agent's last events.
	e.agent.detach()
	e.finish()
}

// do runs a job and answers the callers whose results are known then.
func (e *engine) do(job func(*engine)) {
	job(e)
	if len(e.mail.answers) > 0 {
		e.publish() // a caller must see its change in the state
		if e.list.changed {
			e.listing.keep(time.Now()) // and in the session's line
		}
		e.mail.answer()
	}
}

// finish returns when the files beside the log are written: the next opening of the
// session reads them, and clients wait for some.
func (e *engine) finish() {
	e.folds.keep(true)
	for {
		e.queueFile.keep(time.Now())
		e.listing.keep(time.Now())
		if e.files.idle() {
			return
		}
		e.do(<-e.mail.jobs)
	}
}

// proceed performs everything that is due. It may be called at any time, because it
// looks at the state and not at the last event. It also performs steps that its own
// steps make due, such as the next prompt after the end of a turn.
func (e *engine) proceed() {
	now := time.Now()
	e.wakeAt = time.Time{}
	e.present.watch(&e.foldedLog, now)
	dirty := e.dirty
	for passes := 0; ; passes++ {
		e.dirty = false
		e.pass(now)
		if !e.dirty {
			break
		}
		dirty = true
		if passes == maxPasses {
			e.wake(now) // let other jobs in the mailbox run first
			break
		}
	}
	e.dirty = dirty
	e.listing.keep(now)
	e.folds.keep(false)
}

// maxPasses limits how long proceed delays the mailbox.
const maxPasses = 10

// pass performs the steps that are due, and marks the state as dirty if one changed
// it.
func (e *engine) pass(now time.Time) {
	e.probeLog(now)
	if !e.fold.Open && e.turn.phase != noTurn {
		e.turn.over() // a repair of the log has ended it
	}
	e.queueFile.keep(now)
	if e.fold.Recorder.Open || e.imported {
		e.passRecorded(now)
		return
	}
	e.pauses.watch()
	e.agent.watch(now)
	e.questions.watchRequests(now)
	e.rounds.watch()
	switch {
	case e.closing:
		e.windDown()
	case e.health.broken():
	case e.fold.Open:
		e.guard.watch()
		e.turns.watch(now)
	case e.undoing:
	default:
		e.guard.watch()
		e.resumes.auto()
		e.turns.takeNext(now)
	}
	e.agent.rest(now)
}

// passRecorded is pass while a program records the session. The hub only waits for
// the program, and leaves calls open when the hub ends.
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
