package session

import (
	"cmp"

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

// release continues a queue that an interruption holds: a person sent a prompt,
// which is queued after the others.
func (l *foldedLog) release(promptID string, by event.Actor) error {
	list := l.supersede(promptID, by)
	if l.fold.Open || len(list) == 0 {
		return nil
	}
	if _, err := l.write(list...); err != nil {
		return l.stuck(err)
	}
	l.dirty = true
	return nil
}

// held reports whether the queue waits for a person's decision about an
// interruption.
func (l *foldedLog) held() bool {
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
