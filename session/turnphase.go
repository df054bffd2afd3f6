package session

import "fmt"

// turnPhase is how far the open turn is. The log says that a turn is open; the phase
// says what the engine does for it.
type turnPhase uint8

const (
	noTurn        turnPhase = iota
	turnWaiting             // its prompt is in the log, and the agent is not ready for it yet
	turnReading             // the log is read for an agent that is told the session before the prompt
	turnTelling             // the agent is told the session
	turnTold                // the agent was told the session
	turnGiven               // the agent has the prompt
	turnCancelled           // a person asked the agent to end it
	turnOverdue             // the agent continues long after that: a force reset is offered
	turnEnding              // it is over, and only its end event could not be written yet
)

// String names the phase in messages.
func (p turnPhase) String() string {
	return [...]string{"no turn", "waiting", "reading", "telling", "told", "given", "cancelled", "overdue", "ending"}[p]
}

// follows is the transition table of the turn: it reports whether the phase to may
// follow from. An agent that knows only a part of the session, in turnTelling, is not given
// the prompt. A turn that the agent does not have ends at once instead of being
// cancelled.
func (to turnPhase) follows(from turnPhase) bool {
	switch to {
	case turnWaiting:
		return from == noTurn
	case turnReading, turnTelling, turnTold:
		return from == to-1
	case turnGiven:
		return from == turnWaiting || from == turnTold
	case turnCancelled:
		return from == turnGiven
	case turnOverdue:
		return from == turnCancelled
	case turnEnding:
		return from != noTurn
	case noTurn:
		return true // every turn can end in every phase
	}
	return false
}

// turnProgress is the phase of the open turn. Only become changes it.
type turnProgress struct {
	// bug reports a step that is not in the table. Set at construction.
	bug func(step string)

	phase  turnPhase
	endsIn turnPhase // the phase before turnEnding
}

// become changes the phase.
func (t *turnProgress) become(to turnPhase) {
	if !to.follows(t.phase) {
		t.bug(fmt.Sprintf("turn: %s cannot follow %s", to, t.phase))
	}
	if to == turnEnding && t.phase != turnEnding {
		t.endsIn = t.phase
	}
	t.phase = to
}

// reached is the phase of the turn, and of one that is ending the phase before.
func (t *turnProgress) reached() turnPhase {
	if t.phase == turnEnding {
		return t.endsIn
	}
	return t.phase
}

// given reports whether the agent got the prompt.
func (t *turnProgress) given() bool { return t.reached() >= turnGiven }

// cancelled reports whether a person asked the agent to end the turn.
func (t *turnProgress) cancelled() bool { return t.reached() >= turnCancelled }

// halfway reports whether the agent may know only a part of the session.
func (t *turnProgress) halfway() bool {
	return t.reached() == turnReading || t.telling()
}

// telling reports whether the agent is being told the session.
func (t *turnProgress) telling() bool { return t.reached() == turnTelling }
