package session

import (
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// alters reports whether a snapshot is to be saved after an event. The pieces of an answer
// wait for its end.
func alters(p event.Payload) bool {
	switch p := p.(type) {
	case event.UserPrompt, event.TurnEnd, event.FileWrite, event.SessionPaused, event.SessionEnd:
		return true
	case event.ToolCall:
		return finished(p.Status)
	case event.ToolCallUpdate:
		return finished(p.Status)
	case event.Note:
		return p.Statement() == transcript.NoteUndo
	}
	return false
}

func finished(s event.ToolStatus) bool { return s == event.ToolCompleted || s == event.ToolFailed }
