package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/slots"
	"github.com/abidehub/abide/session/state"
)

// Limits of supervision.
const (
	crashWindow   = 10 * time.Minute
	crashLimit    = 5 // in crashWindow; then a person decides
	longestPause  = time.Minute
	stopBound     = 30 * time.Second // for Agent.Stop, which has several steps
	lastWordBound = 5 * time.Second  // from the end of Stop to the AgentExit
)

// turnEnder ends the open turn. It is the interface for the parts below turns.
type turnEnder interface {
	end(before []state.Entry, reason event.StopReason, failure *event.Failure) error
	endOrLater(before []state.Entry, reason event.StopReason, failure *event.Failure)
}

// agentSlot holds the session's agent process: it starts, restarts and stops the
// process.
type agentSlot struct {
	// Set at construction.
	*foldedLog
	slot    *slots.Slot
	helpers *helpers
	turn    *turnRun
	ends    turnEnder
	record  recordOutput

	status  AgentStatus
	message string       // explains the status to a person
	login   []AuthMethod // login methods of an agent that requires a login
	// idleSince is when the last turn ended.
	idleSince time.Time
	agentProcess
	nextStart
}

// agentProcess is the current process, or the last one.
type agentProcess struct {
	proc    Agent // while ready or stopping
	sink    *sink // nil while absent or failed
	version string
	offers  agentOffers
	resumed event.Resumption // how it continued its session
	heard   time.Time        // when it last sent anything, recorded or not
	// chosen are the settings that people gave it since it started, by field.
	chosen    map[string]string
	settings  agentSettings
	restSince time.Time // since when it is idle and could be stopped; zero if it is not
	cause     stopCause
	// exited is set if it ended during its start. The error of StartAgent then
	// explains why.
	exited *event.AgentExit
	// lastWordBy is the deadline for its AgentExit after it was stopped.
	lastWordBy time.Time
}

// nextStart says when and how the agent is started next.
type nextStart struct {
	wanted    bool   // a client waits for the agent without a turn
	authBy    string // login method to use
	settingUp bool   // the set-up command runs before it
	anew      bool   // start a new agent session, without the agent's memory
	crashes   []time.Time
	restartAt time.Time // after a crash; zero while none is due
}

// mayFollow is the transition table of the slot: it reports whether the status to may
// follow from.
func mayFollow(to, from AgentStatus) bool {
	switch to {
	case AgentStarting:
		return from == AgentAbsent // a person's decision makes a failed slot absent first
	case AgentReady:
		return from == AgentStarting
	case AgentStopping:
		return from == AgentStarting || from == AgentReady
	case AgentFailed:
		return from == AgentAbsent // its process is gone
	case AgentAbsent:
		return true
	}
	return false
}

// become changes the status. It panics for a change that is not in the table.
func (a *agentSlot) become(to AgentStatus, message string) {
	if !mayFollow(to, a.status) {
		panic(fmt.Sprintf("agent slot: %s cannot follow %s", to, a.status))
	}
	a.status, a.message = to, message
}

func (a *agentSlot) up() bool { return a.status == AgentReady }

// there reports whether a process exists or may exist.
func (a *agentSlot) there() bool {
	return a.status == AgentStarting && a.sink != nil || a.status == AgentReady || a.status == AgentStopping
}

// detach accepts no more output of the current agent.
func (a *agentSlot) detach() {
	if a.sink != nil {
		a.sink.close()
		a.sink = nil
	}
}

// start starts the agent as soon as a slot is free.
func (a *agentSlot) start() {
	if a.there() {
		return
	}
	if a.status != AgentStarting {
		a.become(AgentStarting, "")
		a.restartAt = time.Time{}
		a.dirty = true
	}
	if !a.hub.pool.Acquire(a.slot) {
		if a.message == "" {
			a.message = "waiting until another session's agent is free"
			a.dirty = true
		}
		return // the slot's bell rings when one is free, and proceed calls start again
	}
	a.message, a.cause, a.exited = "", notStopped, nil
	a.offers.known, a.offers.resumable = false, false
	a.settings = agentSettings{}
	a.dirty = true
	s := newSink(a.record, a.helpers.ended)
	s.starting = func(words string) {
		a.helpers.post(func() {
			if a.sink == s && a.status == AgentStarting && a.message != words {
				a.message, a.dirty = words, true
			}
		})
	}
	a.sink = s
	spec := AgentSpec{
		SessionID:      a.id,
		Agent:          a.agentName,
		Workspace:      a.workspace,
		Directories:    a.hub.settings().DirectoriesFor(a.project),
		AgentSessionID: a.fold.Remembered(),
		ContextLost:    a.fold.Given > 0,
		OpenBlob:       func(sha256 string) (io.ReadCloser, error) { return a.log.OpenBlob(sha256) },
		Past:           observer.UpTo(a.log, a.log.Marks().Visible),
		PastAfter:      max(0, a.log.Marks().Min-1),
		AuthMethod:     a.authBy,
		Allow:          a.allowed(),
	}
	if a.anew {
		spec.AgentSessionID, a.anew = "", false
	}
	if a.turn.restore.wanted || !a.fold.Open && a.fold.Pauses.Way == event.WaySegmented {
		spec.Past = nil // it gets the whole session in segments
	}
	a.authBy, a.login = "", nil
	bound := cmp.Or(a.hub.settings().Agent(a.agentName).StartLimit, a.hub.settings().Limits.AgentStart)
	command := a.beginSetup()
	a.helpers.run(func() {
		if command != nil {
			err := runSetup(a.hub.setUp, s, spec, command)
			a.helpers.post(func() { a.setUp(s, err) })
			if err != nil {
				return
			}
		}
		ctx, cancel := context.WithTimeoutCause(s.ctx, bound, tooLong(bound))
		defer cancel()
		proc, err := a.hub.start(ctx, spec, s)
		if late := tooLong(0); errors.As(err, &late) {
			err = late // whichever step was waited for
		}
		if err == nil && proc == nil {
			err = errors.New("no agent was started")
		}
		a.helpers.post(func() { a.started(s, proc, err) })
	})
}

// setup returns the set-up command that runs before the agent starts; nil if none does.
// The configuration of now decides, so that a corrected command is run.
func (a *agentSlot) setup() []string {
	if !a.fold.Setup.Due || a.hub.setUp == nil {
		return nil
	}
	return a.hub.settings().SetupFor(a.project)
}

// beginSetup is setup, and shows that the command runs.
func (a *agentSlot) beginSetup() []string {
	command := a.setup()
	if command != nil {
		a.message, a.settingUp = "running the set-up command: "+state.Cut(state.OneLine(strings.Join(command, " ")), 200), true
	}
	return command
}

// setUp handles the end of the set-up command.
func (a *agentSlot) setUp(s *sink, err error) {
	if err != nil {
		a.started(s, nil, err)
	} else if a.sink == s && a.status == AgentStarting {
		a.message, a.settingUp, a.dirty = "", false, true
	}
}

// setupFailed ends the open turn, so that a person decides: a resume runs the command
// again, or leaves it out.
func (a *agentSlot) setupFailed(err *setupError) {
	a.logger.Warn("set-up command failed", "err", err.cause)
	a.become(AgentFailed, err.Error()+". A prompt or a restart runs it again.")
	if a.fold.Open {
		a.turn.cut = event.CutPaused
		a.ends.endOrLater(nil, event.StopInterrupted, &event.Failure{Code: "setup_failed", Message: err.Error()})
	}
}

// tooLong is the error of a start that its limit ended.
type tooLong time.Duration

// Error implements error.
func (t tooLong) Error() string { return "it was not ready in " + time.Duration(t).String() }

// Is implements the interface of package errors.
func (tooLong) Is(target error) bool { return target == context.DeadlineExceeded }

// started handles the result of a start.
func (a *agentSlot) started(s *sink, proc Agent, err error) {
	if a.sink != s { // the start was given up
		if proc != nil {
			a.helpers.run(func() { a.stopProcess(proc) })
		}
		return
	}
	a.dirty = true
	if err == nil && a.exited != nil {
		err = errors.New(exitWords(*a.exited))
		a.helpers.run(func() { a.stopProcess(proc) })
	}
	if err != nil {
		a.startFailed(err)
		return
	}
	a.proc = proc
	if a.status == AgentStopping { // it was stopped before it was ready
		a.stopNow()
		return
	}
	a.become(AgentReady, "")
	a.logger.Info("agent is ready", "agent", a.agentName)
}

// startFailed handles the end of an agent that was never ready.
func (a *agentSlot) startFailed(err error) {
	cause, exited := a.cause, a.exited
	a.gone()
	if cause != notStopped { // stop has already ended the open turn
		return
	}
	if failed := (*setupError)(nil); errors.As(err, &failed) {
		a.setupFailed(failed)
		return
	}
	a.logger.Warn("agent did not start", "agent", a.agentName, "err", err)
	failure := &event.Failure{
		Code:    "agent_start",
		Message: fmt.Sprintf("the agent %s could not be started: %v", a.agentName, err),
	}
	if exited != nil {
		if words := lastLines(exited.StderrTail, lastWords); words != "" && !strings.Contains(failure.Message, words) {
			failure.Message += ". It wrote:\n" + words
		}
	}
	var wanted *LoginNeeded
	if errors.As(err, &wanted) {
		// Another attempt would fail too: a person must log in.
		failure.Code, failure.Message = state.CodeAuthRequired, wanted.Error()
		a.become(AgentFailed, failure.Message)
		a.login = wanted.Methods
	} else if exited != nil && a.queue.Len() > 0 {
		a.crashed(failure.Message, true)
	} else {
		a.become(AgentFailed, strings.TrimSuffix(failure.Message, ".")+". A prompt or a restart tries again.")
	}
	var said []state.Entry
	if exited == nil { // no process ran, so no AgentExit explains it
		said = a.entries(event.Error{Code: failure.Code, Message: failure.Message})
	}
	a.ends.endOrLater(said, event.StopAgentExit, failure)
}

// takeExit records an agent's exit and closes its open calls and requests. After an
// error nothing has changed, and the caller repeats the call.
func (a *agentSlot) takeExit(exit event.AgentExit) error {
	if a.proc == nil && a.exited == nil {
		if _, err := a.write(a.entries(exit)...); err != nil {
			return err
		}
		a.exited = &exit // started handles it
		return nil
	}
	reason, midTurn := event.StopAgentExit, a.fold.Open
	if a.cause != notStopped {
		reason = a.cause.ends()
	}
	if a.cause == stopSleep {
		exit.Reason = "asleep"
	}
	if a.cause == stopSleep || a.cause == stopClose {
		exit.StderrTail = "" // nothing went wrong that it could explain
	}
	before, updated := a.log.Marks().Visible, a.log.Metadata().UpdatedAt
	if err := a.recordExit(exit, reason); err != nil {
		return err
	}
	if !midTurn && (a.cause == stopSleep || a.cause == stopClose) {
		a.noNews(before, updated)
	}
	cause := a.cause
	a.gone()
	if cause == notStopped || cause == stopBroken {
		a.logger.Warn("agent ended", "agent", a.agentName, "how", exitWords(exit), "reason", exit.Reason)
		a.crashed(exitWords(exit), midTurn || a.queue.Len() > 0)
	}
	return nil
}

// noNews marks the events written since before as housekeeping: they do not make
// the session unread and do not move it up in the list.
func (a *agentSlot) noNews(before event.Seq, updated time.Time) {
	a.hub.reads.Carry(a.id, a.log.Epoch(), before, a.log.Marks().Visible)
	a.log.TakeBackUpdated(updated)
}

// recordExit writes an agent's exit and closes its open calls and requests. A turn
// that was not given to the agent stays open for the next one.
func (a *agentSlot) recordExit(exit event.AgentExit, reason event.StopReason) error {
	if a.fold.Open && !a.turn.given() && !a.turn.halfway() {
		_, err := a.write(append(a.entries(exit), a.closeAll(string(reason))...)...)
		return err
	}
	if a.turn.cut = event.CutAgentExit; a.cause == stopClose {
		a.turn.cut = event.CutHubStop
	}
	failure := &event.Failure{Code: "agent_exit", Message: exitWords(exit)}
	if a.cause == stopDeaf {
		failure = &event.Failure{Code: "cancel_unanswered", Message: "the agent did not answer the cancel and was stopped"}
	}
	if reason == event.StopAgentExit && a.turn.cancelled() {
		reason = event.StopCancelled // a person ended it, and the agent did not survive that
	}
	return a.ends.end(a.entries(exit), reason, failure)
}

// stop begins to stop the agent, if there is one.
func (a *agentSlot) stop(cause stopCause) {
	switch {
	case a.status == AgentStopping:
		if a.cause == stopSleep {
			a.cause = cause
		}
		return
	case a.status == AgentStarting && a.sink == nil: // it still waits for a slot
		a.gone()
		return
	case !a.there():
		return
	}
	starting := a.status == AgentStarting
	if a.fold.Open && a.turn.given() {
		a.turn.stoppedIn = a.fold.Phase()
	}
	a.become(AgentStopping, a.message)
	a.cause = cause
	a.dirty = true
	if starting {
		a.sink.cancel() // StartAgent returns and reports
		return
	}
	a.stopNow()
}

func (a *agentSlot) stopNow() {
	s, proc := a.sink, a.proc
	a.helpers.run(func() {
		a.stopProcess(proc)
		a.helpers.post(func() {
			if a.sink == s {
				// The process group is gone, but its earlier output may still be
				// unread.
				a.lastWordBy = time.Now().Add(lastWordBound)
			}
		})
	})
}

func (a *agentSlot) stopProcess(proc Agent) {
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	if err := proc.Stop(ctx); err != nil {
		a.logger.Error("agent could not be stopped", "agent", a.agentName, "err", err)
	}
}

// gone empties the slot after an agent has ended.
func (a *agentSlot) gone() {
	a.detach()
	a.proc, a.version, a.lastWordBy, a.restSince, a.chosen = nil, "", time.Time{}, time.Time{}, nil
	a.settings, a.settingUp = agentSettings{}, false
	a.become(AgentAbsent, "")
	a.hub.pool.Release(a.slot)
	a.dirty = true
}

// crashed decides what follows an unexpected exit. If the agent was needed, it is
// restarted after a pause, up to crashLimit times.
func (a *agentSlot) crashed(words string, needed bool) {
	now := time.Now()
	recent := a.crashes[:0]
	for _, at := range a.crashes {
		if now.Sub(at) < crashWindow {
			recent = append(recent, at)
		}
	}
	a.crashes = append(recent, now)
	if len(a.crashes) >= crashLimit {
		a.become(AgentFailed, fmt.Sprintf("%s; that was the %dth time in %d minutes. A prompt or a restart tries again.",
			words, len(a.crashes), crashWindow/time.Minute))
		return
	}
	if !needed {
		a.message = words + "; the next prompt starts it again"
		return
	}
	pause := min(time.Second<<(len(a.crashes)-1), longestPause)
	a.restartAt = now.Add(pause)
	a.message = fmt.Sprintf("%s; it is started again in %v", words, pause)
}

// forgive forgets past crashes, because a person decided to continue.
func (a *agentSlot) forgive() {
	a.crashes, a.restartAt = nil, time.Time{}
	if a.status == AgentFailed {
		a.become(AgentAbsent, "")
		a.login = nil
	}
}

// watch performs the steps that are due: a start that waits for a slot, a restart
// after a crash, the end of the wait for an AgentExit.
func (a *agentSlot) watch(now time.Time) {
	if !a.lastWordBy.IsZero() && a.sink != nil {
		switch {
		case a.health.blocked && !a.closing:
			a.lastWordBy = now.Add(lastWordBound) // its output waits for the log
		case !now.Before(a.lastWordBy), a.closing && a.health.broken():
			a.giveUpOnLastWord()
		}
		if !a.lastWordBy.IsZero() {
			a.wake(a.lastWordBy)
		}
	}
	if a.closing {
		return
	}
	if a.status == AgentStarting && a.sink == nil {
		a.start()
	}
	if !a.restartAt.IsZero() {
		if now.Before(a.restartAt) {
			a.wake(a.restartAt)
		} else {
			a.start()
		}
	}
	if a.wanted && a.status == AgentAbsent {
		a.wanted = false
		a.start()
	}
}

// giveUpOnLastWord records an exit for an agent whose process is gone without an
// AgentExit, so that the log need not wait for it.
func (a *agentSlot) giveUpOnLastWord() {
	exit := event.AgentExit{Reason: "stopped; it did not report its end"}
	if err := a.takeExit(exit); err != nil {
		a.logger.Error("end of the agent could not be recorded", "err", err)
		a.gone()
	}
}

// rest stops an idle agent if another session needs its slot, or if it was idle for
// too long. The second case applies only to an agent that can resume its session.
// The first applies to all: a new agent with a summary is worse than a resumed one,
// but better than letting another session wait.
func (a *agentSlot) rest(now time.Time) {
	if a.status == AgentStopping {
		return // its slot is free in a moment, so no other session must give one up
	}
	idle := a.up() && !a.fold.Open && len(a.fold.Permissions.Open) == 0 && !a.closing
	if _, waiting := a.queue.NextDue(now); !idle || waiting {
		if !a.restSince.IsZero() {
			a.restSince = time.Time{}
			a.hub.pool.Rest(a.slot, time.Time{})
		}
		return
	}
	if a.restSince.IsZero() {
		a.restSince = now
		a.hub.pool.Rest(a.slot, now)
	}
	bound := a.hub.settings().Limits.AgentIdle
	overdue := a.offers.resumable && bound > 0 && !now.Before(a.restSince.Add(bound))
	if overdue || a.hub.pool.ShouldYield(a.slot) {
		a.stop(stopSleep)
		return
	}
	if a.offers.resumable && bound > 0 {
		a.wake(a.restSince.Add(bound))
	}
}
