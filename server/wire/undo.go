package wire

import "github.com/abidehub/abide/session/event"

// Undo asks to go back to before the prompt of a turn.
type Undo struct {
	Turn int `json:"turn"`
	// What is files, talk or both (the default).
	What string `json:"what,omitempty"`
	// Confirm has what a 409 named in needs: edits, sessions.
	Confirm []string `json:"confirm,omitempty"`
}

// Redo takes the last undo back.
type Redo struct {
	// Confirm has what a 409 named in needs: edits, sessions.
	Confirm []string `json:"confirm,omitempty"`
}

// Undone is what an undo or a redo did.
type Undone struct {
	Turn int    `json:"turn"`
	What string `json:"what"`
	Redo bool   `json:"redo,omitempty"`
	// Files is how many were written or removed, and Left those that stayed as they were.
	Files int        `json:"files"`
	Left  []UndoLeft `json:"left"`
}

// UndoLeft is a file that an undo left as it was.
type UndoLeft struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Undoable is what can be undone.
type Undoable struct {
	// Turns are the newest 100, oldest first; absent beside a plan.
	Turns []UndoTurn `json:"turns,omitempty"`
	// Redo is what a redo takes back; absent if there is nothing.
	Redo *Undone `json:"redo,omitempty"`
	// Plan is what the undo or redo that was asked for would do.
	Plan *UndoPlan `json:"plan,omitempty"`
}

// UndoTurn is a turn that an undo can go back to.
type UndoTurn struct {
	Turn   int       `json:"turn"`
	Seq    event.Seq `json:"seq"`
	Prompt string    `json:"prompt"`
	// NoFiles is why the files cannot go back; absent if they can.
	NoFiles string `json:"no_files,omitempty"`
	// Changed is how many files the turn changed; absent if that is not known. It is counted
	// for the newest ten.
	Changed *int `json:"changed,omitempty"`
	// ChangedFiles are the first 50 of them by the difference of the files before the prompt
	// and at the turn's end, whatever the agent told of them.
	ChangedFiles []TurnFile `json:"changed_files,omitempty"`
}

// TurnFile is a file that a turn changed.
type TurnFile struct {
	Path string `json:"path"`
	// Change is written, made or removed.
	Change string `json:"change"`
}

// UndoPlan is what an undo or a redo would do.
type UndoPlan struct {
	Turn int    `json:"turn"`
	What string `json:"what"`
	Redo bool   `json:"redo,omitempty"`
	// Files are the first 500 of Total.
	Files []UndoFile `json:"files"`
	Total int        `json:"total"`
	// NoFiles is why the files cannot go back; absent if they can.
	NoFiles string `json:"no_files,omitempty"`
	// Needs is what has to be confirmed if the files go back: edits, sessions.
	Needs []string `json:"needs"`
	// Prompts is how many prompts the agent is no longer told of if the talk goes back.
	Prompts int `json:"prompts"`
}

// UndoFile is a file that an undo changes.
type UndoFile struct {
	Path string `json:"path"`
	// Change is written, made or removed.
	Change string `json:"change"`
	// Edited means that it was changed outside of a turn.
	Edited bool `json:"edited,omitempty"`
	// SessionID is another session that works on it now.
	SessionID string `json:"session_id,omitempty"`
}
