package session

import (
	"cmp"
	"context"
	"strconv"
	"strings"
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
	settingsRun
	// restore is the account that the agent is told before the prompt.
	restore restore
	// autoTried says that the hub tried to resume the turn that ended.
	autoTried bool
	seen      workspaceWatch
}

// turns begins the session's turns, gives them to the agent and ends them. A turn
// is begun by a prompt and has exactly one end.
type turns struct {
	*journal
	agent      *agentSlot
	turn       *turnRun
	questions  *questions
	guard      *settingsGuard
	restorer   *restorer
	workspaces *workspaceWatcher
}

// state is the turn as people see it.
func (t *turns) state() Turn {
	now := Turn{State: TurnIdle}
	if t.fold.open {
		now = Turn{State: TurnPrompting, Number: t.fold.turn, PromptID: t.fold.promptID, Since: t.turn.since}
		switch {
		case t.turn.cancelled:
			now.State, now.ForceReset = TurnCancelling, t.turn.offerReset
		case !t.turn.given:
			now.State = TurnStarting
		}
	}
	if t.health.blocked {
		now.State = TurnBlocked
	}
	return now
}

// begin puts a prompt into the log and the ledger. Only after that may it
// be given to the agent. It settles the open interruption: as settled says, else
// as superseded.
func (t *turns) begin(p event.UserPrompt, hash string, settled ...event.InterruptionSettled) (event.Seq, error) {
	now := time.Now()
	turn := t.fold.turn + 1
	// The prompt comes first: a crash that cuts the batch off after it still gives
	// the agent nothing twice.
	list := []entry{{turn, p}}
	if len(settled) == 0 {
		list = append(list, t.supersede(p.PromptID, event.Actor{Name: p.Actor, ID: p.ByID})...)
	}
	for _, s := range settled {
		list = append(list, entry{turn, s})
	}
	seq, err := t.write(list...)
	if err != nil {
		return 0, err
	}
	*t.turn = turnRun{prompt: p, since: now}
	t.saved("enter prompt", t.queue.Enter(queue.Entry{
		PromptID: p.PromptID, Hash: hash, Outcome: queue.Received, Seq: int64(seq), At: now,
	}))
	t.dirty = true
	return seq, nil
}

// saved reports a ledger that could not follow the log for now. The log is the
// truth about prompts, and every later save catches up.
func (j *journal) saved(doing string, err error) {
	if err != nil {
		j.logger.Warn("queue file could not be written", "doing", doing, "err", err)
	}
}

// watch does the due steps for the open turn.
func (t *turns) watch(now time.Time) {
	if t.turn.endAs != "" {
		t.endOrLater(nil, t.turn.endAs, t.turn.failure)
		return
	}
	if !t.turn.given {
		switch t.agent.status {
		case AgentReady:
			if t.guard.admits() && t.restorer.restored(now) {
				t.give(now)
			}
		case AgentStopping: // its end is on its way
		case AgentFailed:
			t.endOrLater(nil, event.StopAgentExit, &event.Failure{Code: "agent_start", Message: t.agent.message})
		default:
			t.agent.start()
		}
		return
	}
	t.workspaces.watch(now)
	if t.turn.cancelled {
		t.watchCancelled(now)
	}
}

// watchCancelled does the due steps for a cancelled turn. An agent that goes on may
// be clearing up, so ending it is left to people.
func (t *turns) watchCancelled(now time.Time) {
	if at := t.turn.since.Add(resetAfter); now.Before(at) {
		t.wake(at)
	} else if !t.turn.offerReset {
		t.turn.offerReset, t.dirty = true, true
	}
	quiet := t.turn.since
	if t.agent.heard.After(quiet) {
		quiet = t.agent.heard
	}
	switch at := quiet.Add(deafAfter); {
	case !t.agent.up():
	case now.Before(at):
		t.wake(at)
	default:
		t.logger.Warn("agent does not answer the cancel and is stopped", "prompt", t.fold.promptID)
		t.agent.stop(stopDeaf)
	}
}

// give hands the prompt to the agent, once.
func (t *turns) give(now time.Time) {
	start := t.entries(event.TurnStart{PromptID: t.fold.promptID})
	if _, err := t.write(append(start, t.toldResumed()...)...); err != nil {
		return // the log is blocked or frozen; proceed comes back here when it is not
	}
	t.turn.given, t.turn.since, t.dirty = true, now, true
	t.turn.seen.due = true
	if err := t.agent.proc.Prompt(t.turn.prompt); err != nil {
		t.logger.Warn("agent did not take the prompt", "prompt", t.fold.promptID, "err", err)
		t.agent.stop(stopBroken)
	}
}

// toldResumed says how the agent got its memory back, once it has the prompt that
// resumes a turn.
func (t *turns) toldResumed() []entry {
	if !strings.HasPrefix(t.fold.promptID, resumePrefix) {
		return nil
	}
	if t.turn.restore.step == restoreTold {
		return nil // it says so itself
	}
	text := "The agent began a new session and is given a short account of this one."
	switch t.agent.resumed {
	case event.ResumedByResume, event.ResumedByLoad:
		text = "The agent goes on with its own session (session/" + string(t.agent.resumed) + ")."
		if turn := t.fold.completed; turn > 0 {
			text += " The last answer it completed is that of turn " + strconv.Itoa(turn) + "."
		} else {
			text += " It has completed no answer yet."
		}
	}
	return t.entries(event.Note{Method: "abide/resumed", Text: event.Text(text)})
}

// takeNext begins the next waiting prompt's turn. The agent is brought up first,
// so that one which does not start uses up no prompt.
func (t *turns) takeNext(now time.Time) {
	due, waiting := t.queue.NextDue(now)
	if !waiting || t.held() {
		return
	}
	if idle := t.agent.idleSince.Add(t.queueSettings().Delay); idle.After(due) {
		due = idle
	}
	if due.After(now) {
		t.wake(due)
		return
	}
	switch t.agent.status {
	case AgentReady:
	case AgentAbsent:
		if t.agent.restartAt.IsZero() {
			t.agent.start()
		}
		return
	default: // on its way, or held until a person decides
		return
	}
	item, ok := t.queue.Take(now)
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
	if _, err := t.begin(prompt, item.Hash); err != nil {
		if t.health.frozen == nil {
			t.queue.Return()
		} // else it may be in the log: it stays in flight until that is known
		return
	}
	t.watch(now)
}

// recordEnd closes the turn as the agent says. A second end of a turn, or
// one of another turn, changes nothing: every turn has exactly one.
func (t *turns) recordEnd(p event.TurnEnd) error {
	if !t.fold.open || p.PromptID != t.fold.promptID || !t.turn.given || t.turn.endAs != "" {
		t.logger.Warn("agent ended a turn that is not open", "prompt", p.PromptID, "stop_reason", p.StopReason)
		return nil
	}
	turn := t.fold.turn
	cancelled := p.StopReason == event.StopCancelled
	if cancelled {
		p.By, p.ByID = t.turn.stoppedBy.Name, t.turn.stoppedBy.ID
	}
	list := closings(&t.fold, func(c toolCall) bool { return cancelled && c.turn == turn }, "the turn ended")
	outcomes := outcomesOf(list)
	if cut := t.cutBy(p, len(outcomes) > 0); cut != "" {
		list = append(list, entry{turn, t.cutOff(cut)})
	}
	seq, err := t.write(append(list, entry{turn, p})...)
	if err != nil {
		return err
	}
	t.questions.tellAgent(outcomes...)
	t.ended(p, seq+event.Seq(len(list)))
	return nil
}

// cutBy returns why a turn that its agent ended is cut off all the same: the
// provider failed, or the agent was stopped with the hub. An agent that lost its
// request by that may report a normal end. It is empty for an end of the agent's
// own, and for one that a person asked for.
func (t *turns) cutBy(p event.TurnEnd, lostQuestion bool) event.InterruptReason {
	switch {
	case t.turn.cancelled:
		return ""
	case t.agent.cause == stopClose && (p.StopReason == event.StopCancelled || lostQuestion):
		return event.CutHubStop
	case p.Error != nil && p.StopReason == event.StopInterrupted && p.Error.Code != codeAuthRequired:
		return event.CutProviderError
	}
	return ""
}

// end closes the open turn on the hub's account, together with the events that
// belong before the end in the log. The agent's open calls are closed as well,
// unless the agent was never given the cancelled turn and goes on. Without an open
// turn it writes the rest.
func (t *turns) end(before []entry, reason event.StopReason, failure *event.Failure) error {
	list := before
	if reason != event.StopCancelled || t.turn.given {
		list = append(list, t.closeAll(string(reason))...)
	}
	if !t.fold.open {
		if len(list) == 0 {
			return nil
		}
		_, err := t.write(list...)
		return err
	}
	if t.turn.cut != "" && !t.turn.cancelled {
		list = append(list, entry{t.fold.turn, t.cutOff(t.turn.cut)})
	}
	end := event.TurnEnd{PromptID: t.fold.promptID, StopReason: reason, Error: failure}
	if reason == event.StopCancelled || reason == event.StopInterrupted {
		end.By, end.ByID = t.turn.stoppedBy.Name, t.turn.stoppedBy.ID
	}
	list = append(list, entry{t.fold.turn, end})
	seq, err := t.write(list...)
	if err != nil {
		return err
	}
	t.ended(end, seq+event.Seq(len(list)-1))
	return nil
}

// endOrLater is end for ends that come once: a failed write is tried again.
func (t *turns) endOrLater(before []entry, reason event.StopReason, failure *event.Failure) {
	if err := t.end(before, reason, failure); err != nil && t.fold.open {
		t.turn.endAs, t.turn.failure = reason, failure
		t.wake(time.Now().Add(probeInterval))
	}
}

// cutOff is the event that says that the open turn is cut off now, in the phase in
// which its agent was stopped if it was.
func (t *turns) cutOff(reason event.InterruptReason) event.TurnInterrupted {
	p := t.fold.cutOff(reason)
	p.Phase = cmp.Or(t.turn.stoppedIn, p.Phase)
	return p
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

// ended does the steps after the end of every turn.
func (t *turns) ended(end event.TurnEnd, seq event.Seq) {
	now := time.Now()
	if interrupted(end.StopReason) {
		t.saved("note interruption", t.queue.Interrupt(end.PromptID, int64(seq), now))
	} else {
		t.saved("follow the log", t.queue.Advance(int64(seq)))
	}
	if t.turn.restore.halfway() && t.agent.up() && end.StopReason != event.StopAgentExit && end.StopReason != event.StopHubRestart {
		t.agent.stop(stopReset) // it knows a part of the session, and may still be reading
	}
	*t.turn = turnRun{}
	t.agent.idleSince = now
	t.list.flush = true
	t.dirty = true
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
	return tell(ctx, b, func(e *engine) error { return e.turns.cancel(actor) })
}

func (t *turns) cancel(actor event.Actor) error {
	if t.fold.recorder.Open || t.imported {
		return t.refusal()
	}
	if !t.fold.open || t.turn.cancelled || t.turn.endAs != "" {
		return nil
	}
	if !t.turn.given {
		t.turn.stoppedBy = actor
		if t.turn.restore.halfway() {
			return t.b.stuck(t.restorer.cancel())
		}
		return t.b.stuck(t.end(nil, event.StopCancelled, nil))
	}
	var list []entry
	var outcomes []event.PermissionOutcome
	for _, r := range t.fold.permissions.open {
		o := r.cancelled(actor, "the turn was cancelled")
		outcomes = append(outcomes, o)
		list = append(list, entry{r.Turn, o})
	}
	if len(list) > 0 {
		if _, err := t.write(list...); err != nil {
			return t.b.stuck(err)
		}
	}
	t.turn.cancelled, t.turn.stoppedBy, t.turn.since, t.dirty = true, actor, time.Now(), true
	t.logger.Info("turn is cancelled", "prompt", t.fold.promptID, "actor", actor.Name)
	if err := t.agent.proc.Cancel(); err != nil {
		t.logger.Warn("agent did not take the cancel", "err", err)
		t.agent.stop(stopReset)
		return nil
	}
	t.questions.tellAgent(outcomes...)
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
		return e.turns.reset(actor)
	})
}

// reset stops the agent in any case; the turn's end follows as soon as it can
// be written.
func (t *turns) reset(actor event.Actor) error {
	t.turn.stoppedBy = actor
	t.agent.stop(stopReset)
	t.endOrLater(nil, event.StopInterrupted, nil)
	return nil
}
