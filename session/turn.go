package session

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// resetAfter is how long a cancelled turn may continue before a person is offered a
// force reset.
const resetAfter = 10 * time.Second

// deafAfter is how long an agent may be silent after a cancel before it is stopped,
// because a hanging agent would never end its turn.
const deafAfter = 20 * time.Second

// turnRun is the part of the open turn that is not in the log. The engine owns it.
type turnRun struct {
	turnProgress
	prompt event.UserPrompt
	since  time.Time // when it began, was given to the agent, or was cancelled
	// stoppedBy is the actor of the cancel or of the force reset.
	stoppedBy event.Actor
	// endAs and failure are the end event that is to be written, in turnEnding.
	endAs   event.StopReason
	failure *event.Failure
	// cut is the reason for interrupting the turn; empty if there is none, or if a
	// person ended it.
	cut event.InterruptReason
	// stoppedIn is the phase in which the agent was stopped. It is kept because the
	// agent closes its tools when it is asked to end the turn.
	stoppedIn event.TurnPhase
	// refused means that a question of the turn was not allowed.
	refused bool
	settingsRun
	// restore is the restore that precedes the prompt.
	restore restore
	seen    workspaceWatch
	files   filesRun
}

// begin starts a turn whose prompt is in the log.
func (t *turnRun) begin(p event.UserPrompt, now time.Time) {
	t.become(turnWaiting)
	*t = turnRun{turnProgress: t.turnProgress, prompt: p, since: now}
}

// over forgets a turn whose end is in the log.
func (t *turnRun) over() {
	t.become(noTurn)
	*t = turnRun{turnProgress: t.turnProgress}
}

// turns begins the session's turns, gives them to the agent and ends them. A prompt
// begins a turn, and each turn has exactly one end.
type turns struct {
	*foldedLog
	agent      *agentSlot
	turn       *turnRun
	questions  *questions
	guard      *settingsGuard
	restorer   *restorer
	workspaces *workspaceWatcher
	files      *fileStates
	budget     budgetHold
}

// state returns the turn for State.
func (t *turns) state() Turn {
	now := Turn{State: TurnIdle}
	if t.fold.Open && !t.imported {
		now = Turn{State: TurnPrompting, Number: t.fold.Turn, PromptID: t.fold.PromptID, Since: t.turn.since}
		switch {
		case t.turn.cancelled():
			now.State, now.ForceReset = TurnCancelling, t.turn.reached() == turnOverdue
		case !t.turn.given():
			now.State = TurnStarting
		}
	}
	if t.health.blocked {
		now.State = TurnBlocked
	}
	return now
}

// begin writes a prompt to the log and the ledger. Only then may the agent get it.
// It also settles the open interruption: with settled, or else as superseded.
func (t *turns) begin(p event.UserPrompt, hash string, settled ...event.InterruptionSettled) (event.Seq, error) {
	now := time.Now()
	turn := t.fold.Turn + 1
	// The prompt comes first: if a crash cuts the batch after it, the agent still
	// gets nothing twice.
	list := []state.Entry{{Turn: turn, Payload: p}}
	if len(settled) == 0 {
		list = append(list, t.supersede(p.PromptID, event.Actor{Name: p.Actor, ID: p.ByID})...)
	}
	for _, s := range settled {
		list = append(list, state.Entry{Turn: turn, Payload: s})
	}
	tell := t.fold.Pauses.Way == event.WaySegmented
	seq, err := t.write(list...)
	if err != nil {
		return 0, err
	}
	t.turn.begin(p, now)
	t.turn.restore.wanted = tell
	t.queue.Enter(queue.Entry{
		PromptID: p.PromptID, Hash: hash, Outcome: queue.Received, Seq: int64(seq), At: now,
	})
	t.dirty = true
	return seq, nil
}

// watch performs the due steps for the open turn.
func (t *turns) watch(now time.Time) {
	switch {
	case t.turn.phase == turnEnding:
		t.endOrLater(nil, t.turn.endAs, t.turn.failure)
	case !t.turn.given():
		if t.agent.setup() == nil { // its files belong to the state before the prompt
			t.files.before(t.fold.Turn)
		}
		t.prepare(now)
	default:
		t.workspaces.watch(now)
		if t.turn.cancelled() {
			t.watchCancelled(now)
		}
	}
}

// prepare brings the turn to an agent that is ready for it.
func (t *turns) prepare(now time.Time) {
	switch t.agent.status {
	case AgentReady:
		if t.guard.admits() && t.restorer.restored(now) && t.files.kept(now) {
			t.give(now)
		}
	case AgentStopping: // its end is on its way
	case AgentFailed:
		t.endOrLater(nil, event.StopAgentExit, &event.Failure{Code: "agent_start", Message: t.agent.message})
	default:
		t.agent.start()
	}
}

// watchCancelled performs the due steps for a cancelled turn. A person decides
// about an agent that continues, because it may be cleaning up.
func (t *turns) watchCancelled(now time.Time) {
	if at := t.turn.since.Add(resetAfter); now.Before(at) {
		t.wake(at)
	} else if t.turn.phase == turnCancelled {
		t.turn.become(turnOverdue)
		t.dirty = true
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
		t.logger.Warn("agent does not answer the cancel and is stopped", "prompt", t.fold.PromptID)
		t.agent.stop(stopDeaf)
	}
}

// give sends the prompt to the agent, once.
func (t *turns) give(now time.Time) {
	start := t.entries(t.files.start(t.fold.PromptID))
	if _, err := t.write(append(start, t.toldResumed()...)...); err != nil {
		return // the log is blocked or frozen; proceed tries again
	}
	t.turn.become(turnGiven)
	t.turn.since, t.dirty = now, true
	t.turn.seen.due = true
	if err := t.agent.proc.Prompt(t.turn.prompt); err != nil {
		t.logger.Warn("agent did not take the prompt", "prompt", t.fold.PromptID, "err", err)
		t.agent.stop(stopBroken)
	}
}

// toldResumed records how the agent continued its session, once it has the prompt
// that resumes a turn.
func (t *turns) toldResumed() []state.Entry {
	if !strings.HasPrefix(t.fold.PromptID, state.ResumePrefix) {
		return nil
	}
	if t.turn.phase == turnTold {
		return nil // a note of the restore says so
	}
	text := "The agent began a new session and is given a short account of this one."
	switch t.agent.resumed {
	case event.ResumedByResume, event.ResumedByLoad:
		text = "The agent continues its own session (session/" + string(t.agent.resumed) + ")."
		if turn := t.fold.Completed; turn > 0 {
			text += " The last answer it completed is that of turn " + strconv.Itoa(turn) + "."
		} else {
			text += " It has completed no answer yet."
		}
	}
	return t.entries(event.Note{Method: "abide/resumed", Text: event.Text(text)})
}

// takeNext begins the turn of the next waiting prompt. It starts the agent first,
// so that an agent that fails to start uses up no prompt.
func (t *turns) takeNext(now time.Time) {
	due, waiting := t.queue.NextDue(now)
	if !waiting || t.held() {
		return
	}
	if idle := t.agent.idleSince.Add(t.queueSettings().Delay); idle.After(due) && !t.queue.Items()[0].Now {
		due = idle
	}
	if due.After(now) {
		t.wake(due)
		return
	}
	if held, again, words := t.budget.held(); held {
		t.wait(now.Add(again), words)
		return
	}
	switch t.agent.status {
	case AgentReady:
	case AgentAbsent:
		if t.agent.restartAt.IsZero() {
			t.agent.start()
		}
		return
	default: // starting, stopping, or waiting for a person's decision
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
		Author:      item.Author,
		AuthorID:    item.AuthorID,
		QueuedAt:    &item.QueuedAt,

		OriginalHash: item.Hash,
	}
	if _, err := t.begin(prompt, item.Hash); err != nil {
		if t.health.frozen == nil {
			t.queue.Return()
		} // it may be in the log, so it stays in flight until that is known
		return
	}
	t.watch(now)
}

// wait has the queue looked at again, and says why it waits, if there are words.
func (t *turns) wait(until time.Time, words string) {
	t.wake(until)
	if words == "" {
		return
	}
	if _, err := t.write(t.entries(event.Note{Method: noteBudget, Text: event.Text(words)})...); err != nil {
		t.logger.Info("the session could not note why its queue waits", "err", err)
	}
}

// recordEnd records the end of the turn reported by the agent. A second end of a
// turn, or one of another turn, is ignored: every turn has exactly one end.
func (t *turns) recordEnd(p event.TurnEnd) error {
	if !t.fold.Open || p.PromptID != t.fold.PromptID || !t.turn.given() || t.turn.phase == turnEnding {
		t.logger.Warn("agent ended a turn that is not open", "prompt", p.PromptID, "stop_reason", p.StopReason)
		return nil
	}
	turn := t.fold.Turn
	if t.turn.cancelled() && p.StopReason != event.StopCancelled {
		p = cancelledTurn(p) // a person ended it, however the agent takes that
	}
	cancelled := p.StopReason == event.StopCancelled
	if cancelled {
		p.By, p.ByID = t.turn.stoppedBy.Name, t.turn.stoppedBy.ID
	}
	list := t.fold.Closings(func(c state.ToolCall) bool { return cancelled && c.Turn == turn }, "the turn ended")
	outcomes := outcomesOf(list)
	if by, paused := t.cutByPause(); paused {
		if p.StopReason != event.StopCancelled {
			p = cancelledTurn(p)
		}
		p.StopReason, p.By, p.ByID = event.StopInterrupted, by.By, by.ByID
		list = append(list, state.Entry{Turn: turn, Payload: t.cutOff(event.CutPersonPaused)})
	} else if cut := t.cutBy(p, len(outcomes) > 0); cut != "" {
		if cut == event.CutCancelled {
			p.StopReason, p.Error = event.StopInterrupted, &event.Failure{Code: "agent_cancelled", Message: "The agent cancelled the turn by itself."}
		}
		list = append(list, state.Entry{Turn: turn, Payload: t.cutOff(cut)})
	}
	seq, err := t.write(append(list, state.Entry{Turn: turn, Payload: p})...)
	if err != nil {
		return err
	}
	t.questions.tellAgent(outcomes...)
	t.ended(p, seq+event.Seq(len(list)))
	return nil
}

// cutBy returns why a turn that its agent ended still counts as interrupted: the
// provider failed, or the agent was stopped with the hub. An agent that lost a
// permission request by that may report a normal end. It is empty for other ends,
// including those that a person asked for: agents may end a turn as cancelled because a
// question in it was not allowed.
func (t *turns) cutBy(p event.TurnEnd, lostQuestion bool) event.InterruptReason {
	switch {
	case t.turn.cancelled():
		return ""
	case t.agent.cause == stopClose && (p.StopReason == event.StopCancelled || lostQuestion):
		return event.CutHubStop
	case p.Error != nil && p.StopReason == event.StopInterrupted && p.Error.Code != state.CodeAuthRequired:
		return event.CutProviderError
	case p.StopReason == event.StopCancelled && t.agent.cause == notStopped && !t.turn.refused:
		return event.CutCancelled
	}
	return ""
}

// cancelledTurn returns the end of a turn that a person cancelled. The agent's own
// answer stays in raw.
func cancelledTurn(p event.TurnEnd) event.TurnEnd {
	if p.Raw == nil {
		p.Raw, _ = json.Marshal(map[string]event.StopReason{"stopReason": p.StopReason}) // never fails
	}
	p.StopReason, p.Error = event.StopCancelled, nil
	return p
}

// end closes the open turn for the hub. The events in before precede the end in the
// log. It also closes the agent's open calls, unless the turn was cancelled before
// the agent got it. Without an open turn it writes only the other events.
func (t *turns) end(before []state.Entry, reason event.StopReason, failure *event.Failure) error {
	list := before
	if reason != event.StopCancelled || t.turn.given() {
		list = append(list, t.closeAll(string(reason))...)
	}
	if !t.fold.Open {
		if len(list) == 0 {
			return nil
		}
		_, err := t.write(list...)
		return err
	}
	by := state.Paused{By: t.turn.stoppedBy.Name, ByID: t.turn.stoppedBy.ID}
	if pause, paused := t.cutByPause(); paused {
		by, reason, failure = *pause, event.StopInterrupted, nil
		list = append(list, state.Entry{Turn: t.fold.Turn, Payload: t.cutOff(event.CutPersonPaused)})
	} else if t.turn.cut != "" && !t.turn.cancelled() {
		list = append(list, state.Entry{Turn: t.fold.Turn, Payload: t.cutOff(t.turn.cut)})
	}
	end := event.TurnEnd{PromptID: t.fold.PromptID, StopReason: reason, Error: failure}
	if reason == event.StopCancelled || reason == event.StopInterrupted {
		end.By, end.ByID = by.By, by.ByID
	}
	list = append(list, state.Entry{Turn: t.fold.Turn, Payload: end})
	seq, err := t.write(list...)
	if err != nil {
		return err
	}
	t.ended(end, seq+event.Seq(len(list)-1))
	return nil
}

// endOrLater is end for an end that is reported once: a failed write is retried.
func (t *turns) endOrLater(before []state.Entry, reason event.StopReason, failure *event.Failure) {
	if err := t.end(before, reason, failure); err != nil && t.fold.Open {
		t.turn.become(turnEnding)
		t.turn.endAs, t.turn.failure = reason, failure
		t.wake(time.Now().Add(probeInterval))
	}
}

// cutOff returns the event for an interruption of the open turn now. Its phase is
// that in which its agent was stopped, if it was.
func (t *turns) cutOff(reason event.InterruptReason) event.TurnInterrupted {
	p := t.fold.CutOff(reason)
	p.Phase = cmp.Or(t.turn.stoppedIn, p.Phase)
	return p
}

// closeAll returns the events that end every open tool call and request, because
// the agent is gone or about to be.
func (l *foldedLog) closeAll(reason string) []state.Entry {
	return l.fold.Closings(func(state.ToolCall) bool { return true }, reason)
}

func outcomesOf(list []state.Entry) []event.PermissionOutcome {
	var outcomes []event.PermissionOutcome
	for _, n := range list {
		if o, ok := n.Payload.(event.PermissionOutcome); ok {
			outcomes = append(outcomes, o)
		}
	}
	return outcomes
}

// ended performs the steps after the end of every turn.
func (t *turns) ended(end event.TurnEnd, seq event.Seq) {
	now := time.Now()
	if state.Interrupts(end.StopReason) {
		t.queue.Interrupt(end.PromptID, int64(seq), now)
	} else {
		t.queue.Advance(int64(seq))
	}
	if t.turn.halfway() && t.agent.up() && end.StopReason != event.StopAgentExit && end.StopReason != event.StopHubRestart {
		t.agent.stop(stopReset) // it knows only a part of the session and may still be reading
	}
	if t.turn.given() {
		t.files.after(t.fold.Turn)
	}
	t.turn.over()
	t.agent.idleSince = now
	t.list.flush = true
	t.dirty = true
}

// giveWay cancels the open turn for a prompt that is to be sent at once. The prompt is in
// the queue: if the turn cannot be cancelled, it waits for its end.
func (t *turns) giveWay(actor event.Actor) {
	if !t.fold.Open || t.turn.cancelled() {
		return
	}
	note := event.Note{Method: "abide/stop_and_send", Text: event.Text(actor.Name + " stopped this turn to send another prompt."), By: actor.Name, ByID: actor.ID}
	_, err := t.write(t.entries(note)...)
	if err == nil {
		err = t.cancel(actor)
	}
	if err != nil {
		t.logger.Warn("turn is not cancelled for a prompt", "prompt", t.fold.PromptID, "err", err)
	}
}

func (t *turns) cancel(actor event.Actor) error {
	if t.fold.Recorder.Open || t.imported {
		return t.refusal()
	}
	if !t.fold.Open || t.turn.cancelled() || t.turn.phase == turnEnding {
		return nil
	}
	if !t.turn.given() {
		t.turn.stoppedBy = actor
		if t.turn.halfway() {
			return t.stuck(t.restorer.cancel())
		}
		if err := t.end(nil, event.StopCancelled, nil); err != nil {
			return t.stuck(err)
		}
		if t.agent.settingUp {
			t.agent.stop(stopReset)
		}
		return nil
	}
	var list []state.Entry
	var outcomes []event.PermissionOutcome
	for _, r := range t.fold.Permissions.Open {
		o := r.Cancelled(actor, "the turn was cancelled")
		outcomes = append(outcomes, o)
		list = append(list, state.Entry{Turn: r.Turn, Payload: o})
	}
	if len(list) > 0 {
		if _, err := t.write(list...); err != nil {
			return t.stuck(err)
		}
	}
	t.turn.become(turnCancelled)
	t.turn.stoppedBy, t.turn.since, t.dirty = actor, time.Now(), true
	t.logger.Info("turn is cancelled", "prompt", t.fold.PromptID, "actor", actor.Name)
	if err := t.agent.proc.Cancel(); err != nil {
		t.logger.Warn("agent did not take the cancel", "err", err)
		t.agent.stop(stopReset)
		return nil
	}
	t.questions.tellAgent(outcomes...)
	return nil
}

// reset stops the agent in any case. The turn's end follows as soon as it can be
// written.
func (t *turns) reset(actor event.Actor) error {
	t.turn.stoppedBy = actor
	t.agent.stop(stopReset)
	t.endOrLater(nil, event.StopInterrupted, nil)
	return nil
}
