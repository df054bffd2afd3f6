package event

import (
	"encoding/json"
	"strings"
)

// The sources of a note with a method of the hub's own that is not the hub's.
const (
	FromAgent    = "agent"
	FromRecorder = "recorder"
	FromImport   = "import"
)

// hubMethods begin the methods of the hub's own notes.
const hubMethods = "abide/"

// Heard returns a note as another program than the hub reports it: a method of the
// hub's own is kept with its source, so that it is not taken for a statement of the
// hub.
func (n Note) Heard(from string) Note {
	if strings.HasPrefix(n.Method, hubMethods) {
		n.From = from
	} else {
		n.From = ""
	}
	return n
}

// Stated reports whether the note is the hub's own statement. In logs of builds before
// From existed, every note of such a method counts as one.
func (n Note) Stated() bool { return n.From == "" && strings.HasPrefix(n.Method, hubMethods) }

// Statement is the method of a statement of the hub; empty for any other note.
func (n Note) Statement() string {
	if !n.Stated() {
		return ""
	}
	return n.Method
}

// Background reports whether the note is the beginning of an act on a branch, the end of a round of a job or its answer, or of a kind that agents send for the client
// alone: who is logged in (_auth/…, Codex), that a page was visited (elicitation/complete), information about the session without a
// title (Codex), a word about a change of its mode (Gemini), or a file of the prompt (an echo). It is kept, and is no line of the talk.
func (n Note) Background() bool {
	if strings.HasPrefix(n.Method, "_auth/") || n.Method == "elicitation/complete" {
		return true
	}
	if is := n.Statement(); is == "abide/branch" || is == "abide/checkpoint" || is == "abide/job_answer" {
		return n.Text == ""
	}
	if n.Method != "session/update" || n.Text != "" {
		return false
	}
	var update struct {
		Kind string `json:"sessionUpdate"`
	}
	if json.Unmarshal(n.Raw, &update) != nil {
		return false
	}
	switch update.Kind {
	case "session_info_update", "agent_message_chunk", "user_message_chunk":
		return true
	}
	return false
}
