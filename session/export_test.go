package session

import (
	"bytes"
	"fmt"
	"log/slog"
)

// TurnPhases names the phases of a turn.
func TurnPhases() []string {
	var names []string
	for p := noTurn; p <= turnEnding; p++ {
		names = append(names, p.String())
	}
	return names
}

// StepTurn changes the phase of a turn from one to another, which are indices of
// TurnPhases. It returns the phase after that, and the bug that was reported.
func StepTurn(from, to int, strict bool) (after, bug string) {
	var logged bytes.Buffer
	defer func() {
		if p := recover(); p != nil {
			bug = fmt.Sprint("panic: ", p)
		}
	}()
	e := newEngine(foldedLog{hub: hub{strict: strict}, logger: slog.New(slog.NewTextHandler(&logged, nil))}, newFront(), 0)
	e.turn.phase = turnPhase(from)
	e.turn.become(turnPhase(to))
	return e.turn.phase.String(), logged.String()
}
