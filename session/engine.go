package session

import (
	"log/slog"
	"sync"
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
	seat    *seat          // set at construction
	helpers sync.WaitGroup // goroutines beside run; each reports into the mailbox
	alarm   *time.Timer

	turn      turnRun
	agent     agentSlot
	questions questions
	recording recording
	listing   listing
	folds     foldCache
	unsaved   unsavedQueue
	present   presenceClock
	ended     bool
}

// run is the engine. It returns when the session was closed and its agent is
// gone.
func (e *engine) run() {
	defer close(e.b.gone)
	defer e.helpers.Wait()
	defer close(e.b.done) // helpers that still want to report need not
	e.alarm = time.NewTimer(0)
	defer e.alarm.Stop()
	for !e.ended {
		select {
		case job := <-e.b.mail:
			job(e)
		case <-e.b.watchers.changed:
			e.present.stale = true
		case <-e.seat.bell:
		case <-e.alarm.C:
		}
		e.proceed()
		e.publish()
		e.setAlarm()
	}
	e.hub.pool.release(e.seat)
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
	e.watchAgent(now)
	e.questions.watchRequests(now)
	switch {
	case e.closing:
		e.windDown()
	case e.health.broken():
	case e.fold.open:
		e.watchTurn(now)
	default:
		e.autoResume()
		e.takeNext(now)
	}
	e.restAgent(now)
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

// help runs fn beside the engine. fn reports back with post.
func (e *engine) help(fn func()) {
	e.helpers.Add(1)
	go func() {
		defer e.helpers.Done()
		fn()
	}()
}

// post hands a job to the engine, for helpers. It is dropped if the engine has
// ended.
func (e *engine) post(job func(*engine)) {
	select {
	case e.b.mail <- job:
	case <-e.b.done:
	}
}
