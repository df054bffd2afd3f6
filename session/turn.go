package session

import (
	"context"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
)

// resetAfter is how long a cancelled turn may go on before a person is offered
// to free it by force.
const resetAfter = 10 * time.Second

// deafAfter is how long an agent may be silent after a cancel before it is
// stopped: one that hangs would never end its turn.
const deafAfter = 20 * time.Second

// turnRun is the open turn, as far as it is not in the log. The engine owns it.
type turnRun struct {
	prompt    event.UserPrompt
	since     time.Time // when it began, was given to the agent, or was cancelled
	given     bool
	cancelled bool // a person asked to end it
	// stoppedBy is the actor of the cancel or of the force_reset.
	stoppedBy  event.Actor
	offerReset bool
	// endAs is set while the turn is over and only its end could not be
	// written yet.
	endAs   event.StopReason
	failure *event.Failure
	// cut is the cause that cuts the turn off; empty while nothing does, or a
	// person ended it.
	cut event.InterruptReason
	// stoppedIn is the phase in which the agent was stopped: one that is asked to end
	// its turn closes its tools first.
	stoppedIn event.TurnPhase
	// drift is a person's decision about an agent that comes back with other
	// settings; applying says that it is being given the recorded ones.
	drift    driftDecision
	applying bool
	// kept are the settings that differ and were said to be kept.
	kept []Drift
	// restore is the account that the agent is told before the prompt.
	restore restore
	// autoTried says that the hub tried to resume the turn that ended.
	autoTried bool
	seen      workspaceWatch
}

// state is the turn as people see it.
func (e *engine) turnState() Turn {
	t := Turn{State: TurnIdle}
	if e.fold.open {
		t = Turn{State: TurnPrompting, Number: e.fold.turn, PromptID: e.fold.promptID, Since: e.turn.since}
		switch {
		case e.turn.cancelled:
			t.State, t.ForceReset = TurnCancelling, e.turn.offerReset
		case !e.turn.given:
			t.State = TurnStarting
		}
	}
	if e.health.blocked {
		t.State = TurnBlocked
	}
	return t
}

// beginTurn puts a prompt into the log and the ledger. Only after that may it
// be given to the agent. It settles the open interruption: as settled says, else
// as superseded.
func (e *engine) beginTurn(p event.UserPrompt, hash string, settled ...event.InterruptionSettled) (event.Seq, error) {
	now := time.Now()
	turn := e.fold.turn + 1
	// The prompt comes first: a crash that cuts the batch off after it still gives
	// the agent nothing twice.
	list := []entry{{turn, p}}
	if len(settled) == 0 {
		list = append(list, e.supersede(p.PromptID, event.Actor{Name: p.Actor, ID: p.ByID})...)
	}
	for _, s := range settled {
		list = append(list, entry{turn, s})
	}
	seq, err := e.write(list...)
	if err != nil {
		return 0, err
	}
	e.turn = turnRun{prompt: p, since: now}
	e.saved("enter prompt", e.queue.Enter(queue.Entry{
		PromptID: p.PromptID, Hash: hash, Outcome: queue.Received, Seq: int64(seq), At: now,
	}))
	e.dirty = true
	return seq, nil
}

// saved reports a ledger that could not follow the log for now. The log is the
// truth about prompts, and every later save catches up.
func (j *journal) saved(doing string, err error) {
	if err != nil {
		j.logger.Warn("queue file could not be written", "doing", doing, "err", err)
	}
}

// watchTurn does the due steps for the open turn.
func (e *engine) watchTurn(now time.Time) {
	t := &e.turn
	if t.endAs != "" {
		e.endTurnOrLater(nil, t.endAs, t.failure)
		return
	}
	if !t.given {
		switch e.agent.status {
		case AgentReady:
			if e.guard() && e.restored(now) {
				e.give(now)
			}
		case AgentStopping: // its end is on its way
		case AgentFailed:
			e.endTurnOrLater(nil, event.StopAgentExit, &event.Failure{Code: "agent_start", Message: e.agent.message})
		default:
			e.startAgent()
		}
		return
	}
	e.watchWorkspace(now)
	if t.cancelled {
		e.watchCancelled(now)
	}
}

// watchCancelled does the due steps for a cancelled turn. An agent that goes on may
// be clearing up, so ending it is left to people.
func (e *engine) watchCancelled(now time.Time) {
	t := &e.turn
	if at := t.since.Add(resetAfter); now.Before(at) {
		e.wake(at)
	} else if !t.offerReset {
		t.offerReset, e.dirty = true, true
	}
	quiet := t.since
	if e.agent.heard.After(quiet) {
		quiet = e.agent.heard
	}
	switch at := quiet.Add(deafAfter); {
	case !e.agent.up():
	case now.Before(at):
		e.wake(at)
	default:
		e.logger.Warn("agent does not answer the cancel and is stopped", "prompt", e.fold.promptID)
		e.stopAgent(stopDeaf)
	}
}

// give hands the prompt to the agent, once.
func (e *engine) give(now time.Time) {
	start := e.entries(event.TurnStart{PromptID: e.fold.promptID})
	if _, err := e.write(append(start, e.toldResumed()...)...); err != nil {
		return // the log is blocked or frozen; proceed comes back here when it is not
	}
	e.turn.given, e.turn.since, e.dirty = true, now, true
	e.turn.seen.due = true
	if err := e.agent.proc.Prompt(e.turn.prompt); err != nil {
		e.logger.Warn("agent did not take the prompt", "prompt", e.fold.promptID, "err", err)
		e.stopAgent(stopBroken)
	}
}

// takeNext begins the next waiting prompt's turn. The agent is brought up first,
// so that one which does not start uses up no prompt.
func (e *engine) takeNext(now time.Time) {
	due, waiting := e.queue.NextDue(now)
	if !waiting || e.held() {
		return
	}
	if idle := e.agent.idleSince.Add(e.queueSettings().Delay); idle.After(due) {
		due = idle
	}
	if due.After(now) {
		e.wake(due)
		return
	}
	switch e.agent.status {
	case AgentReady:
	case AgentAbsent:
		if e.agent.restartAt.IsZero() {
			e.startAgent()
		}
		return
	default: // on its way, or held until a person decides
		return
	}
	item, ok := e.queue.Take(now)
	if !ok {
		return
	}
	prompt := event.UserPrompt{
		PromptID:    item.PromptID,
		Text:        event.Text(item.Text),
		Attachments: fromQueue(item.Attachments),
		Actor:       item.Actor,
		ByID:        item.ByID,
		QueuedAt:    &item.QueuedAt,

		OriginalHash: item.Hash,
	}
	if _, err := e.beginTurn(prompt, item.Hash); err != nil {
		if e.health.frozen == nil {
			e.queue.Return()
		} // else it may be in the log: it stays in flight until that is known
		return
	}
	e.watchTurn(now)
}

// recordTurnEnd closes the turn as the agent says. A second end of a turn, or
// one of another turn, changes nothing: every turn has exactly one.
func (e *engine) recordTurnEnd(p event.TurnEnd) error {
	if !e.fold.open || p.PromptID != e.fold.promptID || !e.turn.given || e.turn.endAs != "" {
		e.logger.Warn("agent ended a turn that is not open", "prompt", p.PromptID, "stop_reason", p.StopReason)
		return nil
	}
	turn := e.fold.turn
	cancelled := p.StopReason == event.StopCancelled
	if cancelled {
		p.By, p.ByID = e.turn.stoppedBy.Name, e.turn.stoppedBy.ID
	}
	list := closings(&e.fold, func(c toolCall) bool { return cancelled && c.turn == turn }, "the turn ended")
	outcomes := outcomesOf(list)
	if cut := e.cutBy(p, len(outcomes) > 0); cut != "" {
		list = append(list, entry{turn, e.cutOff(cut)})
	}
	seq, err := e.write(append(list, entry{turn, p})...)
	if err != nil {
		return err
	}
	e.questions.tellAgent(outcomes...)
	e.turnEnded(p, seq+event.Seq(len(list)))
	return nil
}

// cutBy returns why a turn that its agent ended is cut off all the same: the
// provider failed, or the agent was stopped with the hub. An agent that lost its
// request by that may report a normal end. It is empty for an end of the agent's
// own, and for one that a person asked for.
func (e *engine) cutBy(p event.TurnEnd, lostQuestion bool) event.InterruptReason {
	switch {
	case e.turn.cancelled:
		return ""
	case e.agent.cause == stopClose && (p.StopReason == event.StopCancelled || lostQuestion):
		return event.CutHubStop
	case p.Error != nil && p.StopReason == event.StopInterrupted && p.Error.Code != codeAuthRequired:
		return event.CutProviderError
	}
	return ""
}

// endTurn closes the open turn on the hub's account, together with the events that
// belong before the end in the log. The agent's open calls are closed as well,
// unless the agent was never given the cancelled turn and goes on. Without an open
// turn it writes the rest.
func (e *engine) endTurn(before []entry, reason event.StopReason, failure *event.Failure) error {
	list := before
	if reason != event.StopCancelled || e.turn.given {
		list = append(list, e.closeAll(string(reason))...)
	}
	if !e.fold.open {
		if len(list) == 0 {
			return nil
		}
		_, err := e.write(list...)
		return err
	}
	if e.turn.cut != "" && !e.turn.cancelled {
		list = append(list, entry{e.fold.turn, e.cutOff(e.turn.cut)})
	}
	end := event.TurnEnd{PromptID: e.fold.promptID, StopReason: reason, Error: failure}
	if reason == event.StopCancelled || reason == event.StopInterrupted {
		end.By, end.ByID = e.turn.stoppedBy.Name, e.turn.stoppedBy.ID
	}
	list = append(list, entry{e.fold.turn, end})
	seq, err := e.write(list...)
	if err != nil {
		return err
	}
	e.turnEnded(end, seq+event.Seq(len(list)-1))
	return nil
}

// endTurnOrLater is endTurn for ends that come once: a failed write is tried again.
func (e *engine) endTurnOrLater(before []entry, reason event.StopReason, failure *event.Failure) {
	if err := e.endTurn(before, reason, failure); err != nil && e.fold.open {
		e.turn.endAs, e.turn.failure = reason, failure
		e.wake(time.Now().Add(probeInterval))
	}
}

// closeAll ends every tool call and request that is open: the agent is gone or
// about to be.
func (j *journal) closeAll(reason string) []entry {
	return closings(&j.fold, func(toolCall) bool { return true }, reason)
}

func outcomesOf(list []entry) []event.PermissionOutcome {
	var outcomes []event.PermissionOutcome
	for _, n := range list {
		if o, ok := n.payload.(event.PermissionOutcome); ok {
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// turnEnded does the steps after the end of every turn.
func (e *engine) turnEnded(end event.TurnEnd, seq event.Seq) {
	now := time.Now()
	if interrupted(end.StopReason) {
		e.saved("note interruption", e.queue.Interrupt(end.PromptID, int64(seq), now))
	} else {
		e.saved("follow the log", e.queue.Advance(int64(seq)))
	}
	if e.turn.restore.halfway() && e.agent.up() && end.StopReason != event.StopAgentExit && end.StopReason != event.StopHubRestart {
		e.stopAgent(stopReset) // it knows a part of the session, and may still be reading
	}
	e.turn = turnRun{}
	e.agent.idleSince = now
	e.list.flush = true
	e.dirty = true
}

// interrupted reports whether a turn that ended so was cut off.
func interrupted(reason event.StopReason) bool {
	switch reason {
	case event.StopInterrupted, event.StopHubRestart, event.StopAgentExit:
		return true
	}
	return false
}

// Cancel asks the agent to end its turn. Open permission requests are settled as
// cancelled in the log; the agent is told of the cancel and then of them, as ACP
// says. Everything the agent still says is recorded. A turn the agent was not given
// yet ends at once. Without a turn nothing happens.
func (b *BackgroundSession) Cancel(ctx context.Context, actor event.Actor) error {
	return tell(ctx, b, func(e *engine) error { return e.cancel(actor) })
}

func (e *engine) cancel(actor event.Actor) error {
	if e.fold.recorder.Open || e.imported {
		return e.refusal()
	}
	t := &e.turn
	if !e.fold.open || t.cancelled || t.endAs != "" {
		return nil
	}
	if !t.given {
		t.stoppedBy = actor
		if t.restore.halfway() {
			return e.b.stuck(e.endRestore())
		}
		return e.b.stuck(e.endTurn(nil, event.StopCancelled, nil))
	}
	var list []entry
	var outcomes []event.PermissionOutcome
	for _, r := range e.fold.permissions.open {
		o := r.cancelled(actor, "the turn was cancelled")
		outcomes = append(outcomes, o)
		list = append(list, entry{r.Turn, o})
	}
	if len(list) > 0 {
		if _, err := e.write(list...); err != nil {
			return e.b.stuck(err)
		}
	}
	t.cancelled, t.stoppedBy, t.since, e.dirty = true, actor, time.Now(), true
	e.logger.Info("turn is cancelled", "prompt", e.fold.promptID, "actor", actor.Name)
	if err := e.agent.proc.Cancel(); err != nil {
		e.logger.Warn("agent did not take the cancel", "err", err)
		e.stopAgent(stopReset)
		return nil
	}
	e.questions.tellAgent(outcomes...)
	return nil
}

// ForceReset frees a turn of an agent that does not answer: the turn ends as
// interrupted, and the agent is stopped. The next prompt starts it again. Without a
// turn nothing happens.
func (b *BackgroundSession) ForceReset(ctx context.Context, actor event.Actor) error {
	return tell(ctx, b, func(e *engine) error {
		if e.fold.recorder.Open || e.imported {
			return e.refusal()
		}
		if !e.fold.open {
			return nil
		}
		e.logger.Info("turn is reset", "prompt", e.fold.promptID, "actor", actor.Name)
		return e.reset(actor)
	})
}

// reset stops the agent in any case; the turn's end follows as soon as it can
// be written.
func (e *engine) reset(actor event.Actor) error {
	e.turn.stoppedBy = actor
	e.stopAgent(stopReset)
	e.endTurnOrLater(nil, event.StopInterrupted, nil)
	return nil
}
