package server

import (
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/settings"
)

// maxObservers limits the observers in a state. With a thousand observers, each
// would otherwise get a thousand names.
const maxObservers = 50

// stateFrame returns a session's state as clients get it.
func stateFrame(s session.State) *wire.State {
	frame := &wire.State{
		SessionID: s.SessionID, AtSeq: s.AtSeq,
		Turn: s.Turn, Agent: s.Agent,
		PendingPermissions: append([]string{}, s.PendingPermissions...),
		Queue:              make([]wire.QueueItem, 0, len(s.Queue)),
		Mode:               s.Mode, Config: s.Config, Commands: s.Commands, Usage: s.Usage, Interruption: s.Interruption, Paused: s.Paused, Suggestions: s.Suggestions, Restore: s.Restore,
		Observers: make([]wire.Observer, 0, min(len(s.Observers), maxObservers)),
	}
	for _, item := range s.Queue {
		frame.Queue = append(frame.Queue, api.ItemOf(item))
	}
	for _, o := range s.Observers[:min(len(s.Observers), maxObservers)] {
		frame.Observers = append(frame.Observers, wire.Observer{
			ClientID: o.ClientID, Actor: o.Actor, Activity: o.Activity, Seq: o.Seq,
		})
	}
	return frame
}

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
