package transcript

import (
	"encoding/json"

	"github.com/abidehub/abide/session/event"
)

// NoteUndo is the method of the notes about an undo or a redo.
const NoteUndo = "abide/undo"

// UndoPhase is how far an undo is.
type UndoPhase string

const (
	// UndoBegun: the present files are kept, and the hub is about to write others.
	UndoBegun UndoPhase = "begun"
	// UndoDone: it is complete.
	UndoDone UndoPhase = "done"
	// UndoCutOff: the hub ended before it was complete. Some files are as before.
	UndoCutOff UndoPhase = "cut_off"
)

// UndoWhat is what goes back.
type UndoWhat string

const (
	UndoFiles UndoWhat = "files"
	UndoTalk  UndoWhat = "talk"
	UndoBoth  UndoWhat = "both"
)

// Files reports whether the files go back.
func (w UndoWhat) Files() bool { return w == UndoFiles || w == UndoBoth }

// Talk reports whether the talk goes back.
func (w UndoWhat) Talk() bool { return w == UndoTalk || w == UndoBoth }

// Undo is the raw value of a note about an undo.
type Undo struct {
	// N numbers the undos and redos of a session, from 1.
	N     int       `json:"n"`
	Phase UndoPhase `json:"phase"`
	// Turn is the one before whose prompt it goes back to; of a redo that of the undo that
	// it takes back.
	Turn int      `json:"turn"`
	What UndoWhat `json:"what"`
	Redo bool     `json:"redo,omitempty"`
	// Key is the client's id of the request.
	Key string `json:"request_key,omitempty"`
	// Saved is the state of the files before it, and To the state that they go to.
	Saved string `json:"saved,omitempty"`
	To    string `json:"to,omitempty"`
	// Files is how many were written or removed, and Left those that stayed as they were.
	Files int        `json:"files,omitempty"`
	Left  []UndoLeft `json:"left,omitempty"`
	// FromSeq is the first event that the agent is no longer told of, if the talk goes back.
	FromSeq event.Seq `json:"from_seq,omitempty"`
	// AgentSessionID is the agent's session that it leaves.
	AgentSessionID string `json:"agent_session_id,omitempty"`
}

// UndoLeft is a file that an undo left as it was.
type UndoLeft struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// UndoOf returns the undo of a note; nil if it is not about one.
func UndoOf(n event.Note) *Undo {
	var u Undo
	if n.Statement() != NoteUndo || json.Unmarshal(n.Raw, &u) != nil || u.N <= 0 {
		return nil
	}
	return &u
}

// Unsaid is what undos took from an account, the latest last, so that it can be put back.
type Unsaid[T any] struct {
	Stack [][]T `json:"stack,omitempty"`
}

// Apply takes from list what came at FromSeq and later, or puts it back.
func (s *Unsaid[T]) Apply(u Undo, list []T, seq func(T) event.Seq) []T {
	if u.Phase != UndoDone || !u.What.Talk() {
		return list
	}
	if u.Redo {
		if n := len(s.Stack); n > 0 {
			list = append(list, s.Stack[n-1]...)
			s.Stack = s.Stack[:n-1]
		}
		return list
	}
	at := len(list)
	for at > 0 && seq(list[at-1]) >= u.FromSeq {
		at--
	}
	s.Stack = append(s.Stack, append([]T(nil), list[at:]...))
	return list[:at]
}

// Settle forgets what could be put back: another prompt was given.
func (s *Unsaid[T]) Settle() { s.Stack = nil }
