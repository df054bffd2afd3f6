package session

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// UndoRequest asks to go back to before a prompt, or forward again.
type UndoRequest struct {
	// Turn is the one before whose prompt it goes back to. A redo has none: it takes the
	// last undo back.
	Turn int
	Redo bool
	// What is files, talk or both; empty is both. A redo takes back what was undone.
	What transcript.UndoWhat
	// Confirm has what a person confirmed: NeedEdits, NeedSessions.
	Confirm []string
	Actor   event.Actor
	// Key makes a repeated request harmless.
	Key string
}

// undoFacts is what an undo needs of the session.
type undoFacts struct {
	undos  state.Undos
	turn   int // the latest
	done   *transcript.Undo
	number int
}

// undoer begins and ends undos in the engine's goroutine.
type undoer struct {
	log       undoLog
	fold      *state.Fold
	running   *bool // no turn begins
	imported  bool
	stopAgent func()
	states    *fileStates
}

// undoLog is the session's log for an undo.
type undoLog interface {
	refusal() error
	stuck(err error) error
	entries(payloads ...event.Payload) []state.Entry
	write(list ...state.Entry) (event.Seq, error)
}

// begin lets an undo begin: no turn begins until over.
func (u *undoer) begin(r UndoRequest) (undoFacts, error) {
	f := u.facts()
	if f.done = u.fold.Undos.Done(r.Key); f.done != nil {
		return f, nil
	}
	if err := u.log.refusal(); err != nil {
		return f, err
	}
	switch {
	case u.fold.Open:
		return f, fmt.Errorf("%w: a turn is open: stop it first", state.ErrBusy)
	case *u.running:
		return f, fmt.Errorf("%w: another undo is under way", state.ErrBusy)
	}
	*u.running = true
	return f, nil
}

func (u *undoer) facts() undoFacts {
	return undoFacts{undos: u.fold.Undos, turn: u.fold.Turn, number: u.fold.Undos.N + 1}
}

// over lets turns begin again.
func (u *undoer) over() { *u.running = false }

// note writes how far an undo is. A talk that goes back leaves the agent's session.
func (u *undoer) note(p transcript.Undo, by event.Actor) (transcript.Undo, error) {
	talk := p.Phase == transcript.UndoDone && p.What.Talk()
	if talk && !p.Redo {
		p.AgentSessionID = u.fold.AgentSessionID
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	var list []state.Entry
	if open := u.fold.Interruptions.Open; talk && !p.Redo && open != nil && open.Turn >= p.Turn {
		list = u.log.entries(event.InterruptionSettled{InterruptionID: open.InterruptionID, Outcome: event.SettledDismissed, By: by.Name, ByID: by.ID})
	}
	list = append(list, u.log.entries(event.Note{Method: transcript.NoteUndo, Text: event.Text(undoWords(p, by)), By: by.Name, ByID: by.ID, Raw: raw})...)
	if _, err := u.log.write(list...); err != nil {
		return p, u.log.stuck(err)
	}
	if talk {
		u.stopAgent() // it knows what was taken back, or not what was put back
	}
	return p, nil
}

// recover says of an undo that the hub's end cut off that it is not complete.
func (u *undoer) recover() {
	open := u.fold.Undos.Open
	if open == nil || u.imported || u.states.keeper == nil {
		return
	}
	p := *open
	p.Phase = transcript.UndoCutOff
	if _, err := u.note(p, state.TheHub()); err != nil {
		u.states.logger.Warn("an interrupted undo could not be noted", "err", err)
	}
	u.states.helpers.run(func() { u.states.keeper.Clean(u.states.of) })
}

// undoWords says for people what an undo did.
func undoWords(p transcript.Undo, by event.Actor) string {
	name := cmp.Or(by.Name, state.ByHub)
	what := map[transcript.UndoWhat]string{transcript.UndoFiles: "The files", transcript.UndoTalk: "The talk", transcript.UndoBoth: "Files and talk"}[p.What]
	to := fmt.Sprintf("to before the prompt of turn %d", p.Turn)
	if p.Redo {
		to = "to where they were before the undo"
	}
	switch p.Phase {
	case transcript.UndoBegun:
		return fmt.Sprintf("%s begins to put files back %s.", name, to)
	case transcript.UndoCutOff:
		return "The hub ended while files were put back: some are as before. Undo or redo again."
	}
	direction := "back"
	if p.Redo {
		direction = "forward"
	}
	text := fmt.Sprintf("%s went %s %s (%s).", what, direction, to, name)
	if p.What.Files() {
		text += " " + plural(p.Files, "file", "files") + " changed."
	}
	if n := len(p.Left); n > 0 {
		text += " " + plural(n, "file", "files") + " left as they were: " + p.Left[0].Path + " (" + p.Left[0].Why + ")"
		if n > 1 {
			text += ", …"
		}
		text += "."
	}
	if p.What.Talk() {
		text += " The agent starts again with an account of what lies before."
	}
	return text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
