package recovery

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// QuickFold folds batches of a log like the opening of a session. It returns the
// fold's fields as text.
func QuickFold(batches []event.Batch) (string, error) {
	r := Recovery{byID: map[string]int{}}
	for _, b := range batches {
		if err := r.takeAll(b); err != nil {
			return "", err
		}
	}
	return words(r.Fold)
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
	r := Recovery{byID: map[string]int{}}
	for i, b := range batches {
		if i == first {
			data, err := r.Fold.Encode("0123456789abcdef")
			if err != nil {
				return "", err
			}
			changed := r.Fold.Changed
			if r.Fold, _, err = state.Decode(data); err != nil {
				return "", err
			}
			r.Fold.Changed = changed
		}
		if err := r.takeAll(b); err != nil {
			return "", err
		}
	}
	return words(r.Fold)
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
