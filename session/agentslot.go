package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Bounds of supervision.
const (
	crashWindow   = 10 * time.Minute
	crashLimit    = 5 // in crashWindow; then a person decides
	longestPause  = time.Minute
	stopBound     = 30 * time.Second // for Agent.Stop, which has its own sequence
	lastWordBound = 5 * time.Second  // for AgentExit to follow the end of Stop
)

// stopCause is why the hub stops an agent.
type stopCause uint8

const (
	notStopped stopCause = iota
	stopReset            // a person freed the turn
	stopClose            // the hub ends
	stopDeaf             // it did not answer a cancel
	stopSleep            // nothing to do
	stopBroken           // it cannot be used any more
)

// ends is how a turn ends that is open when an agent is stopped so.
func (c stopCause) ends() event.StopReason {
	switch c {
	case stopReset:
		return event.StopInterrupted
	case stopDeaf:
		return event.StopCancelled
	case stopClose:
		return event.StopHubRestart
	}
	return event.StopAgentExit
}

// agentSlot is the session's place for an agent process. The engine owns it.
type agentSlot struct {
	status  AgentStatus
	proc    Agent // while ready or stopping
	sink    *sink // of the agent that is there; nil while absent or failed
	version string
	message string
	offers  agentOffers  // of the agent last started
	login   []AuthMethod // the login methods of an agent that wants a login first
	authBy  string       // how the next start logs in
	anew    bool         // the next start begins a new agent session
	// exited is set when an agent ended while it was being started; the error of
	// StartAgent then tells more.
	exited    *event.AgentExit
	heard     time.Time // when it last spoke, recorded or not
	restSince time.Time
	// chosen are the settings that people gave it since it started, by field.
	chosen  map[string]string
	resumed event.Resumption // how the one that is there got its memory back
	cause   stopCause
	// lastWordBy is when an agent that was stopped must have said its last.
	lastWordBy time.Time

	// idleSince is when the last turn ended.
	idleSince time.Time
	wanted    bool // a client waits for the agent without a turn
	crashes   []time.Time
	restartAt time.Time
}

// follows is the transition table of the slot: it reports whether a status may
// come after another.
func (to AgentStatus) follows(from AgentStatus) bool {
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

// become changes the status. A change that is not in the table is a bug.
func (a *agentSlot) become(to AgentStatus, message string) {
	if !to.follows(a.status) {
		panic(fmt.Sprintf("agent slot: %s cannot follow %s", to, a.status))
	}
	a.status, a.message = to, message
}

func (a *agentSlot) up() bool { return a.status == AgentReady }

// there reports whether a process is or may be there.
func (a *agentSlot) there() bool {
	return a.status == AgentStarting && a.sink != nil || a.status == AgentReady || a.status == AgentStopping
}

// detach takes nothing more from the agent there was.
func (a *agentSlot) detach() {
	if a.sink != nil {
		a.sink.close()
		a.sink = nil
	}
}

// startAgent starts the agent, as soon as there is a seat for it.
func (e *engine) startAgent() {
	a := &e.agent
	if a.there() {
		return
	}
	if a.status != AgentStarting {
		a.become(AgentStarting, "")
		a.restartAt = time.Time{}
		e.dirty = true
	}
	if !e.hub.pool.acquire(e.seat) {
		if a.message == "" {
			a.message = "waiting until another session's agent is free"
			e.dirty = true
		}
		return // the seat's bell rings, and proceed comes back here
	}
	a.message, a.cause, a.exited = "", notStopped, nil
	a.offers.known, a.offers.resumable = false, false
	e.dirty = true
	s := newSink(e.b)
	a.sink = s
	spec := AgentSpec{
		SessionID:      e.b.id,
		Agent:          e.agentName,
		Workspace:      e.workspace,
		AgentSessionID: e.fold.agentSessionID,
		ContextLost:    e.fold.given > 0,
		OpenBlob:       func(sha256 string) (io.ReadCloser, error) { return e.log.OpenBlob(sha256) },
		Past:           e.log,
		PastAfter:      max(0, e.log.Marks().Min-1),
		AuthMethod:     a.authBy,
	}
	if a.anew {
		spec.AgentSessionID, a.anew = "", false
	}
	if e.turn.restore.step == restoreWanted {
		spec.Past = nil // it is told the whole session
	}
	a.authBy, a.login = "", nil
	bound := e.hub.settings().Limits.AgentStart
	e.help(func() {
		ctx, cancel := context.WithTimeout(s.ctx, bound)
		defer cancel()
		proc, err := e.hub.start(ctx, spec, s)
		if err == nil && proc == nil {
			err = errors.New("no agent was started")
		}
		e.post(func(e *engine) { e.agentStarted(s, proc, err) })
	})
}

// agentStarted takes the result of a start.
func (e *engine) agentStarted(s *sink, proc Agent, err error) {
	a := &e.agent
	if a.sink != s { // it was given up
		if proc != nil {
			e.help(func() { e.stopProcess(proc) })
		}
		return
	}
	e.dirty = true
	if err == nil && a.exited != nil {
		err = errors.New(exitWords(*a.exited))
		e.help(func() { e.stopProcess(proc) })
	}
	if err != nil {
		e.startFailed(err)
		return
	}
	a.proc = proc
	if a.status == AgentStopping { // it was stopped before it was ready
		e.stopNow()
		return
	}
	a.become(AgentReady, "")
	e.logger.Info("agent is ready", "agent", e.agentName)
}

// startFailed is the end of an agent that never was ready.
func (e *engine) startFailed(err error) {
	a := &e.agent
	cause, exited := a.cause, a.exited
	e.agentGone()
	if cause != notStopped { // its stopper has settled the open turn
		return
	}
	e.logger.Warn("agent did not start", "agent", e.agentName, "err", err)
	failure := &event.Failure{
		Code:    "agent_start",
		Message: fmt.Sprintf("the agent %s could not be started: %v", e.agentName, err),
	}
	var wanted *LoginNeeded
	if errors.As(err, &wanted) {
		// Trying again by itself changes nothing: a person has to log in.
		failure.Code, failure.Message = codeAuthRequired, wanted.Error()
		a.become(AgentFailed, failure.Message)
		a.login = wanted.Methods
	} else if exited != nil && e.queue.Len() > 0 {
		e.crashed(failure.Message, true)
	} else {
		a.become(AgentFailed, failure.Message+". A prompt or a restart tries again.")
	}
	var said []entry
	if exited == nil { // no process ran that could have said so itself
		said = e.entries(event.Error{Code: failure.Code, Message: failure.Message})
	}
	e.endTurnOrLater(said, event.StopAgentExit, failure)
}

// agentExited takes an agent's exit, which closes its open calls and requests. An
// error means that nothing happened and the word should be said again.
func (e *engine) agentExited(exit event.AgentExit) error {
	a := &e.agent
	if a.proc == nil && a.exited == nil {
		if _, err := e.write(e.entries(exit)...); err != nil {
			return err
		}
		a.exited = &exit // agentStarted follows
		return nil
	}
	reason, midTurn := event.StopAgentExit, e.fold.open
	if a.cause != notStopped {
		reason = a.cause.ends()
	}
	if a.cause == stopSleep {
		exit.Reason = "asleep"
	}
	before, updated := e.log.Marks().Visible, e.log.Metadata().UpdatedAt
	if err := e.recordExit(exit, reason); err != nil {
		return err
	}
	if !midTurn && (a.cause == stopSleep || a.cause == stopClose) {
		e.noNews(before, updated)
	}
	cause := a.cause
	e.agentGone()
	if cause == notStopped || cause == stopBroken {
		e.logger.Warn("agent ended", "agent", e.agentName, "how", exitWords(exit), "reason", exit.Reason)
		e.crashed(exitWords(exit), midTurn || e.queue.Len() > 0)
	}
	return nil
}

// noNews says that the events written since are housekeeping: they do not make a
// session unread, and the list does not move it up.
func (e *engine) noNews(before event.Seq, updated time.Time) {
	e.hub.reads.carry(e.b.id, e.log.Epoch(), before, e.log.Marks().Visible)
	e.log.TakeBackUpdated(updated)
}

// recordExit writes an agent's exit and closes its open calls and requests. A turn
// it was never given is not its own, and waits for the next agent.
func (e *engine) recordExit(exit event.AgentExit, reason event.StopReason) error {
	if e.fold.open && !e.turn.given && !e.turn.restore.halfway() {
		_, err := e.write(append(e.entries(exit), e.closeAll(string(reason))...)...)
		return err
	}
	if e.turn.cut = event.CutAgentExit; e.agent.cause == stopClose {
		e.turn.cut = event.CutHubStop
	}
	failure := &event.Failure{Code: "agent_exit", Message: exitWords(exit)}
	if e.agent.cause == stopDeaf {
		failure = &event.Failure{Code: "cancel_unanswered", Message: "the agent did not answer the cancel and was stopped"}
	}
	return e.endTurn(e.entries(exit), reason, failure)
}

// stopAgent begins to stop the agent, if there is one.
func (e *engine) stopAgent(cause stopCause) {
	a := &e.agent
	switch {
	case a.status == AgentStopping:
		if a.cause == stopSleep {
			a.cause = cause
		}
		return
	case a.status == AgentStarting && a.sink == nil: // it only waits for a seat
		e.agentGone()
		return
	case !a.there():
		return
	}
	starting := a.status == AgentStarting
	if e.fold.open && e.turn.given {
		e.turn.stoppedIn = e.fold.phase()
	}
	a.become(AgentStopping, a.message)
	a.cause = cause
	e.dirty = true
	if starting {
		a.sink.cancel() // StartAgent gives up, and reports
		return
	}
	e.stopNow()
}

func (e *engine) stopNow() {
	s, proc := e.agent.sink, e.agent.proc
	e.help(func() {
		e.stopProcess(proc)
		e.post(func(e *engine) {
			if e.agent.sink == s {
				// Its group is gone; its earlier output is still on its way.
				e.agent.lastWordBy = time.Now().Add(lastWordBound)
			}
		})
	})
}

func (e *engine) stopProcess(proc Agent) {
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	if err := proc.Stop(ctx); err != nil {
		e.logger.Error("agent could not be stopped", "agent", e.agentName, "err", err)
	}
}

// agentGone is the end of an agent's stay in the slot, however it came.
func (e *engine) agentGone() {
	a := &e.agent
	a.detach()
	a.proc, a.version, a.lastWordBy, a.restSince, a.chosen = nil, "", time.Time{}, time.Time{}, nil
	e.turn.applying = false
	a.become(AgentAbsent, "")
	e.hub.pool.release(e.seat)
	e.dirty = true
}

// crashed decides the step after an unexpected exit of the agent. An agent that was
// needed is started again after a pause, so often and no more.
func (e *engine) crashed(words string, needed bool) {
	a := &e.agent
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

func exitWords(exit event.AgentExit) string {
	words := "the agent ended"
	switch {
	case exit.Signal != "":
		words += " by signal " + exit.Signal
	case exit.Code != nil:
		words += fmt.Sprintf(" with exit code %d", *exit.Code)
	}
	return words
}

// forgive lets a person's decision count more than past crashes.
func (a *agentSlot) forgive() {
	a.crashes, a.restartAt = nil, time.Time{}
	if a.status == AgentFailed {
		a.become(AgentAbsent, "")
		a.login = nil
	}
}

// watchAgent does the due steps for the agent: a start that waits for a seat, a
// restart after a crash, the end of the wait for an AgentExit.
func (e *engine) watchAgent(now time.Time) {
	a := &e.agent
	if !a.lastWordBy.IsZero() && a.sink != nil {
		switch {
		case e.health.blocked && !e.closing:
			a.lastWordBy = now.Add(lastWordBound) // its words wait for the disk
		case !now.Before(a.lastWordBy), e.closing && e.health.broken():
			e.giveUpOnLastWord()
		}
		if !a.lastWordBy.IsZero() {
			e.wake(a.lastWordBy)
		}
	}
	if e.closing {
		return
	}
	if a.status == AgentStarting && a.sink == nil {
		e.startAgent()
	}
	if !a.restartAt.IsZero() {
		if now.Before(a.restartAt) {
			e.wake(a.restartAt)
		} else {
			e.startAgent()
		}
	}
	if a.wanted && a.status == AgentAbsent {
		a.wanted = false
		e.startAgent()
	}
}

// giveUpOnLastWord is for an agent whose process is gone without an AgentExit: the
// log must not wait for it for ever.
func (e *engine) giveUpOnLastWord() {
	exit := event.AgentExit{Reason: "stopped; it did not report its end"}
	if err := e.agentExited(exit); err != nil {
		e.logger.Error("end of the agent could not be recorded", "err", err)
		e.agentGone()
	}
}

// restAgent stops an idle agent when another session needs its seat, or when it was
// not used for long. The latter only where it can come back with its memory: one
// that cannot is given a short account when it is back, which is worse than
// remembering and better than another session's prompt that waits.
func (e *engine) restAgent(now time.Time) {
	a := &e.agent
	if a.status == AgentStopping {
		return // its seat is free in a moment: no other session is asked for its own
	}
	idle := a.up() && !e.fold.open && len(e.fold.permissions.open) == 0 && !e.closing
	if _, waiting := e.queue.NextDue(now); !idle || waiting {
		if !a.restSince.IsZero() {
			a.restSince = time.Time{}
			e.hub.pool.rest(e.seat, time.Time{})
		}
		return
	}
	if a.restSince.IsZero() {
		a.restSince = now
		e.hub.pool.rest(e.seat, now)
	}
	bound := e.hub.settings().Limits.AgentIdle
	overdue := a.offers.resumable && bound > 0 && !now.Before(a.restSince.Add(bound))
	if overdue || e.hub.pool.shouldYield(e.seat) {
		e.stopAgent(stopSleep)
		return
	}
	if a.offers.resumable && bound > 0 {
		e.wake(a.restSince.Add(bound))
	}
}
