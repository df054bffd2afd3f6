package state

import (
	"encoding/json"

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

// apply applies a note about the recorder. It reports whether the note is one.
func (r *Recorder) apply(n event.Note) bool {
	return n.Method == NoteRecording && json.Unmarshal(n.Raw, r) == nil
}
