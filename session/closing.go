package session

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
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
		return !e.watchers.any()
	}
	return !e.fold.Open && !e.fold.Recorder.Open && !waiting && len(e.fold.Permissions.Open) == 0 && !e.agent.there() &&
		e.agent.status != AgentStarting && !e.watchers.any()
}

// givenName checks a name given by a person.
func givenName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if utf8.RuneCountInString(name) > 200 || name != "" && !printable(name) {
		return "", fmt.Errorf("%w: a name has at most 200 printable characters", state.ErrInvalid)
	}
	if name != "" && strings.IndexFunc(name, seen) < 0 {
		return "", fmt.Errorf("%w: nothing of this name can be seen; use at least one letter, digit or sign", state.ErrInvalid)
	}
	return name, nil
}

// seen reports whether a rune is visible by itself. Combining marks are not, nor
// are some blank letters and signs.
func seen(r rune) bool {
	return !unicode.IsMark(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != '\u2800'
}
