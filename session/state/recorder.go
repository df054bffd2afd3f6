package state

import (
	"encoding/json"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// NoteRecording is the method of the note that a program records the session. A
// session_end ends the recording.
const NoteRecording = "abide/recording"

// Recorder is the program that records a session, according to the log.
type Recorder struct {
	ID   string `json:"id"`
	Open bool   `json:"open,omitempty"`
}

// foldRecording applies events about the recorder.
func (f *Fold) foldRecording(n event.Note) bool {
	return n.Method == NoteRecording && json.Unmarshal(n.Raw, &f.Recorder) == nil
}

// Placed gives each payload of a recorder's batch its turn. A batch that no session can
// hold, such as a prompt in an open turn, is ErrInvalid.
func (f *Fold) Placed(payloads []event.Payload) ([]Entry, error) {
	turn, open := f.Turn, f.Open
	var batch ToolCalls // the calls of this batch
	list := make([]Entry, 0, len(payloads))
	for _, p := range payloads {
		tools := &f.Tools
		if _, known := batch.turn(ToolCallID(p)); known {
			tools = &batch
		}
		at := tools.turnOf(p, turn, open)
		switch p := p.(type) {
		case event.UserPrompt:
			if open {
				return nil, fmt.Errorf("%w: a turn is open: its turn_end comes before the next user_prompt", ErrInvalid)
			}
			turn, open = turn+1, true
			at = turn
		case event.TurnEnd:
			if !open {
				return nil, fmt.Errorf("%w: no turn is open that a turn_end could end", ErrInvalid)
			}
			open = false
		case event.ToolCall:
			batch.see(0, at, p.ToolCallFields)
		case event.ToolCallUpdate:
			batch.see(0, at, p.ToolCallFields)
		}
		list = append(list, Entry{Turn: at, Payload: p})
	}
	return list, nil
}

// Closed returns the events that end a recording with its open turn and calls.
func (f *Fold) Closed(end event.SessionEnd, reason event.StopReason) []Entry {
	list := f.Closings(func(ToolCall) bool { return true }, string(reason))
	if f.Open {
		list = append(list, Entry{Turn: f.Turn, Payload: event.TurnEnd{PromptID: f.PromptID, StopReason: reason}})
	}
	return append(list, Entry{Turn: f.Turn, Payload: end})
}
