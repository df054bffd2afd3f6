package session

import (
	"bytes"
	"fmt"
	"log/slog"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// QuickFold folds batches of a log like the opening of a session. It returns the
// fold's fields as text.
func QuickFold(batches []event.Batch) (string, error) {
	r := recovery{byID: map[string]int{}}
	for _, b := range batches {
		if err := r.takeAll(b); err != nil {
			return "", err
		}
	}
	return words(r.fold)
}

// FullFold is QuickFold with every event decoded.
func FullFold(batches []event.Batch) (string, error) {
	var f state.Fold
	for _, b := range batches {
		events, err := b.Events()
		if err != nil {
			return "", err
		}
		for _, e := range events {
			f.ApplyEvent(e)
		}
	}
	return words(f)
}

// StoredFold is QuickFold continued from a fold.json that was stored after the
// first batches.
func StoredFold(batches []event.Batch, first int) (string, error) {
	r := recovery{byID: map[string]int{}}
	for i, b := range batches {
		if i == first {
			data, err := r.fold.Encode("0123456789abcdef")
			if err != nil {
				return "", err
			}
			changed := r.fold.Changed
			if r.fold, _, err = state.Decode(data); err != nil {
				return "", err
			}
			r.fold.Changed = changed
		}
		if err := r.takeAll(b); err != nil {
			return "", err
		}
	}
	return words(r.fold)
}

// words returns the fold's fields as text. Folds that read a log in different ways
// keep different text for the last line, so only the line itself is compared, and the
// line after one more chunk.
func words(f state.Fold) (string, error) {
	line, next := f.Line.Text(), f
	next.Apply(f.Seq+1, time.Time{}, 0, event.AgentMessage{MessageID: f.Line.MessageID, Text: " and more"})
	f.Line = state.LastLine{}
	data, err := f.Encode("")
	return fmt.Sprintf("changed %v line %q then %q\n%s", f.Changed, line, next.Line.Text(), data), err
}

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
