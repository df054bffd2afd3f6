package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// How often a session looks again at what it cannot be told of.
const (
	probeInterval    = time.Second            // whether a blocked log can be written again
	progressInterval = 250 * time.Millisecond // how often mere streaming moves the session list
)

// hub is what an engine needs of the manager it belongs to.
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

// engine is the goroutine that owns a session. Jobs from the mailbox, alarms
// and bells make something happen; after each of them proceed looks at where
// things stand and does what should be done next. All fields but the first
// group are owned by run.
type engine struct {
	// set at construction
	b         *BackgroundSession
	log       *store.Log
	hub       hub
	logger    *slog.Logger
	workspace string
	agentName string
	imported  bool // nothing is added to the log
	seat      *seat
	helpers   sync.WaitGroup // goroutines beside run; each reports into the mailbox

	// what is durable
	fold     fold
	foldKept event.Seq // of the fold that was written down last
	named    bool      // a person named the session
	queue    *queue.Queue

	// what is not
	turn    turnRun
	agent   agentSlot
	health  logHealth
	unsaved unsavedQueue
	list    listLine
	// recorderHeard is when the program that records the session was last heard.
	recorderHeard time.Time
	unwatched     time.Time // since when nobody watches while requests are open
	present       presenceClock
	closing       bool
	ended         bool

	dirty  bool      // the published state is out of date
	wakeAt time.Time // when proceed has something to do by itself; zero is never
	alarm  *time.Timer
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
	// Whoever waits for the agent's last words hears that nobody listens.
	e.agent.detach()
}

// proceed does everything that is due. It may be called at any time: it looks
// at how things are, not at what just happened. What one thing it does makes due
// is done as well, such as the next prompt after the end of a turn.
func (e *engine) proceed() {
	now := time.Now()
	e.wakeAt = time.Time{}
	e.watchPresence(now)
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
	e.keepListLine(now)
	e.keepFold()
}

// maxPasses bounds how long proceed keeps the mailbox waiting.
const maxPasses = 10

// pass does what is due as things stand, and marks the state as dirty if that
// changed anything.
func (e *engine) pass(now time.Time) {
	e.probeLog(now)
	e.probeQueue(now)
	if e.fold.recorder.Open || e.imported {
		e.passRecorded(now)
		return
	}
	e.watchAgent(now)
	e.watchRequests(now)
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

// passRecorded is pass while a program records the session: the hub only waits for it,
// and leaves open what is open when it ends.
func (e *engine) passRecorded(now time.Time) {
	switch {
	case e.closing:
		e.list.changed, e.list.flush, e.ended = true, true, true
	case !e.health.broken() && !e.imported:
		e.watchRecorder(now)
	}
}

// wake asks for proceed to be called at t, at the latest.
func (e *engine) wake(t time.Time) {
	if e.wakeAt.IsZero() || t.Before(e.wakeAt) {
		e.wakeAt = t
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

// entry is a payload on its way into the log.
type entry struct {
	turn    int
	payload event.Payload
}

// entries gives payloads the latest turn.
func (e *engine) entries(payloads ...event.Payload) []entry {
	list := make([]entry, 0, len(payloads))
	for _, p := range payloads {
		list = append(list, entry{e.fold.turn, p})
	}
	return list
}

// write appends entries, all or none, and folds them in. It returns the first
// one's seq. Where the fate of a write is not known the log is broken, and
// nothing is folded in: what holds is found out when it is opened again.
func (e *engine) write(list ...entry) (event.Seq, error) {
	now := time.Now()
	drafts := make([]event.Draft, 0, len(list))
	for _, n := range list {
		draft, err := event.NewDraft(n.payload, n.turn, now)
		if err != nil {
			return 0, err
		}
		drafts = append(drafts, draft)
	}
	return e.writeDrafts(drafts, list)
}

// writeDrafts is write for entries that are encoded already.
func (e *engine) writeDrafts(drafts []event.Draft, list []entry) (event.Seq, error) {
	// A write is not given up because whoever asked for it went away.
	first, _, err := e.log.Append(context.Background(), drafts...)
	e.noteLog(err)
	if err != nil {
		return 0, err
	}
	before := e.fold.interruptions.Open
	for i, n := range list {
		e.fold.at = drafts[i].Time.UTC().Truncate(time.Microsecond) // as the line has it
		e.fold.apply(first+event.Seq(i), n.turn, n.payload)
	}
	e.countCut(list, before)
	if e.fold.changed {
		e.fold.changed = false
		e.dirty = true
		e.list.changed = true
	}
	e.list.progressed = true
	return first, nil
}

// logHealth is whether the log can be written, as the engine found it.
type logHealth struct {
	blocked bool
	frozen  error
	probeAt time.Time
}

func (h *logHealth) broken() bool { return h.blocked || h.frozen != nil }

// noteLog learns from the outcome of a write.
func (e *engine) noteLog(err error) {
	h := &e.health
	switch {
	case err == nil:
		if h.blocked && e.log.Health().State != store.HealthBlocked { // else something larger still waits
			h.blocked, e.dirty = false, true
		}
	case errors.Is(err, store.ErrBlocked):
		e.dirty = e.dirty || !h.blocked
		h.blocked, h.probeAt = true, time.Now().Add(probeInterval)
	case errors.Is(err, store.ErrInvalid): // says nothing of the device
	default:
		if h.frozen == nil {
			e.logger.Error("log takes nothing more", "err", err)
			h.frozen = err
			e.dirty, e.list.changed = true, true
		}
	}
}

// probeLog notices that a blocked log has healed.
func (e *engine) probeLog(now time.Time) {
	h := &e.health
	if !h.blocked {
		return
	}
	if !now.Before(h.probeAt) {
		if e.log.Health().State != store.HealthBlocked {
			h.blocked, e.dirty = false, true
			e.followMended()
			return
		}
		h.probeAt = now.Add(probeInterval)
	}
	e.wake(h.probeAt)
}

// followMended takes the lines that mending the log added behind the fold.
func (e *engine) followMended() {
	if e.log.Marks().Visible <= e.fold.seq {
		return
	}
	f, err := catchUp(context.Background(), e.log, e.queue, e.fold)
	if err != nil {
		e.noteLog(err)
		return
	}
	e.list.changed, e.list.progressed = e.list.changed || f.changed, true
	e.fold = f
	e.fold.changed = false
}

// refusal is the error for whoever wants something that must be written first.
func (e *engine) refusal() error {
	switch {
	case e.closing:
		return errEnded
	case e.fold.recorder.Open:
		return errRecording
	case e.imported:
		return errImported
	case e.health.frozen != nil:
		return e.b.stuck(fmt.Errorf("%w: %w", store.ErrFrozen, e.health.frozen))
	case e.health.blocked:
		return e.b.stuck(store.ErrBlocked)
	case e.recordedAbroad():
		return fmt.Errorf("%w: the session was recorded in a directory outside of the hub's workspaces", ErrConflict)
	}
	return nil
}
