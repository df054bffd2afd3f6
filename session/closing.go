package session

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// forgetBound is how long an agent may take to delete its own copy of a session.
const forgetBound = 2 * time.Second

// windDown performs the next step of closing the session.
func (e *engine) windDown() {
	if e.agent.status != AgentAbsent && e.agent.status != AgentFailed {
		e.agent.stop(stopClose)
		if e.agent.status != AgentAbsent {
			return
		}
	}
	if e.health.lost {
		if e.agent.status != AgentFailed {
			e.agent.become(AgentFailed, e.stuck(journal.ErrFenced).Error())
		}
		e.mail.ended = e.stuck(journal.ErrFenced)
		e.list.changed, e.ended = true, true
		return
	}
	if e.fold.Open {
		e.turn.cut = event.CutHubStop
		if err := e.turns.end(nil, event.StopHubRestart, nil); err != nil {
			e.logger.Warn("open turn stays open until the next start", "err", err)
		}
	}
	e.list.changed, e.list.flush = true, true
	e.ended = true
}

// restful reports whether closing the session would interrupt nothing.
func (e *engine) restful() bool {
	_, waiting := e.queue.NextDue(time.Now())
	if !e.files.idle() {
		return false // a client may wait for it
	}
	if e.imported {
		return !e.watchers.Any()
	}
	return !e.fold.Open && !e.fold.Recorder.Open && !waiting && len(e.fold.Permissions.Open) == 0 && !e.agent.there() &&
		e.agent.status != AgentStarting && !e.watchers.Any()
}
