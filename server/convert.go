package server

import (
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/settings"
)

// promptFrame returns the frame with the outcome of a prompt.
func promptFrame(requestID, sessionID, promptID string, r session.PromptResult) wire.Message {
	switch r.Outcome {
	case queue.Queued:
		return &wire.PromptQueued{RequestID: requestID, SessionID: sessionID, PromptID: promptID, Position: r.Position}
	case queue.Removed:
		return &wire.PromptRemoved{RequestID: requestID, SessionID: sessionID, PromptID: promptID}
	case queue.Interrupted:
		return &wire.PromptInterrupted{RequestID: requestID, SessionID: sessionID, PromptID: promptID, Seq: r.Seq}
	}
	return &wire.PromptReceived{RequestID: requestID, SessionID: sessionID, PromptID: promptID, Seq: r.Seq}
}

// queueSize returns the limit of waiting prompts in a session.
func queueSize(s *settings.Hub) int {
	if s.Queue.MaxSize > 0 {
		return s.Queue.MaxSize
	}
	return 10
}
