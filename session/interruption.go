package session

import (
	"cmp"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// supersede returns the event that settles the open interruption because of another
// prompt; empty if there is no interruption.
func (l *foldedLog) supersede(promptID string, by event.Actor) []state.Entry {
	open := l.fold.Interruptions.Open
	if open == nil {
		return nil
	}
	return []state.Entry{{Turn: l.fold.Turn, Payload: event.InterruptionSettled{
		InterruptionID: open.InterruptionID, Outcome: event.SettledSuperseded, PromptID: promptID, By: cmp.Or(by.Name, state.ByHub), ByID: by.ID,
	}}}
}

// release continues a queue that an interruption or a pause holds: a person sent a
// prompt, which is queued after the others.
func (l *foldedLog) release(promptID string, by event.Actor) error {
	list := l.supersede(promptID, by)
	if l.fold.Pauses.Now != nil && len(list) == 0 {
		list = l.entries(event.SessionResumed{By: cmp.Or(by.Name, state.ByHub), ByID: by.ID})
	}
	if l.fold.Open || len(list) == 0 {
		return nil
	}
	if _, err := l.write(list...); err != nil {
		return l.stuck(err)
	}
	l.dirty = true
	return nil
}

// held reports whether the queue waits for a person: the session is paused, or an
// interruption is undecided.
func (l *foldedLog) held() bool {
	if l.fold.Pauses.Now != nil {
		return true
	}
	open := l.fold.Interruptions.Open
	return open != nil && (open.Reason == event.CutPaused || !l.queueSettings().ContinueInterrupted)
}

// interruption returns the open interruption; nil if none.
func (l *foldedLog) interruption() *state.OpenInterruption {
	open := l.fold.Interruptions.Open
	if open == nil || l.imported {
		return nil
	}
	told := *open
	told.Held = l.held() && l.queue.Len() > 0
	return &told
}

// pending returns the ids of the open requests for State. An answer to one of an
// import would reach no agent.
func (l *foldedLog) pending() []string {
	if l.imported {
		return nil
	}
	return l.fold.Permissions.IDs()
}

// pauser stops the work of a paused session. The pause is in the log before anything
// stops, and watch goes on from there, also after a crash.
type pauser struct {
	*foldedLog
	agent *agentSlot
	turn  *turnRun
	turns *turns
}

// pause writes the pause. A session that is paused stays so.
func (s *pauser) pause(by event.Actor) (state.Paused, error) {
	if err := s.refusal(); err != nil {
		return state.Paused{}, err
	}
	switch {
	case s.fold.Pauses.Now != nil:
		return *s.fold.Pauses.Now, nil
	case s.fold.Ended:
		return state.Paused{}, fmt.Errorf("%w: the session has ended", state.ErrConflict)
	case s.undoing:
		return state.Paused{}, fmt.Errorf("%w: an undo is under way", state.ErrBusy)
	}
	if _, err := s.write(s.entries(event.SessionPaused{By: by.Name, ByID: by.ID})...); err != nil {
		return state.Paused{}, fmt.Errorf("pause session: %w", s.stuck(err))
	}
	s.list.flush = true
	return *s.fold.Pauses.Now, nil
}

// mark says whether the session waits to be resumed. The same again does nothing.
func (s *pauser) mark(resumable bool, by event.Actor) error {
	switch {
	case s.fold.Pauses.Resumable == resumable:
		return nil
	case s.refusal() != nil:
		return s.refusal()
	case resumable && s.fold.Ended:
		return fmt.Errorf("%w: the session has ended: a prompt makes it live again", state.ErrConflict)
	}
	if _, err := s.write(s.entries(event.SessionResumable{Resumable: resumable, By: by.Name, ByID: by.ID})...); err != nil {
		return fmt.Errorf("mark session: %w", s.stuck(err))
	}
	s.list.flush = true
	return nil
}

// watch performs the due step of a pause: it ends the open turn, then stops the agent.
// No agent is started meanwhile.
func (s *pauser) watch() {
	now := s.fold.Pauses.Now
	if now == nil || s.closing || s.health.broken() {
		return
	}
	s.agent.restartAt, s.agent.wanted = time.Time{}, false
	switch {
	case !s.fold.Open:
		s.agent.stop(stopSleep)
	case s.turn.phase != turnEnding && !s.turn.cancelled():
		if s.turn.given() {
			s.turn.stoppedIn = s.fold.Phase()
		}
		if err := s.turns.cancel(event.Actor{Name: now.By, ID: now.ByID}); err != nil {
			s.logger.Warn("turn of a paused session is not ended yet", "prompt", s.fold.PromptID, "err", err)
			s.wake(time.Now().Add(probeInterval))
		}
	}
}

// cutByPause returns whether the pause is why the open turn ends, and who paused it. It is,
// however the agent or the hub ends the turn meanwhile.
func (l *foldedLog) cutByPause() (*state.Paused, bool) {
	return l.fold.Pauses.Now, l.fold.Pauses.Now != nil && l.fold.Open
}

// errPaused is the error of what would start the agent of a paused session.
var errPaused = fmt.Errorf("%w: the session is paused: resume it first", state.ErrConflict)
