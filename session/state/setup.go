package state

import (
	"encoding/json"

	"github.com/abidehub/abide/session/event"
)

// NoteSetup is the method of the note that the set-up of a session's working copy is done,
// was left out or failed. Its raw value is a SetupOutcome.
const NoteSetup = "abide/setup"

// Setup is how far the set-up of a working copy is, according to the log.
type Setup struct {
	// Due means that the set-up command runs before the agent starts.
	Due bool `json:"due,omitempty"`
	// Failed says how the last attempt failed; empty if there was none.
	Failed string `json:"failed,omitempty"`
}

// SetupOutcome is the end of a set-up.
type SetupOutcome struct {
	// Failed says how it failed; empty if the session goes on.
	Failed string `json:"failed,omitempty"`
}

// apply applies a note about the set-up. It reports whether the note is one.
func (s *Setup) apply(n event.Note) bool {
	var is SetupOutcome
	if n.Method != NoteSetup || json.Unmarshal(n.Raw, &is) != nil {
		return false
	}
	*s = Setup{Due: s.Due && is.Failed != "", Failed: is.Failed}
	return true
}
