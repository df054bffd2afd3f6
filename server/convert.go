package server

import (
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// maxObservers limits the observers in a state. With a thousand observers, each
// would otherwise get a thousand names.
const maxObservers = 50

// stateFrame returns a session's state as clients get it.
func stateFrame(s session.State) *wire.State {
	frame := &wire.State{
		SessionID: s.SessionID, AtSeq: s.AtSeq,
		Turn:               wire.Turn{State: wire.TurnState(s.Turn.State), Number: s.Turn.Number, PromptID: s.Turn.PromptID, ForceReset: s.Turn.ForceReset},
		PendingPermissions: append([]string{}, s.PendingPermissions...),
		Queue:              make([]wire.QueueItem, 0, len(s.Queue)),
		Mode:               s.Mode, Config: s.Config, Commands: s.Commands, Usage: s.Usage,
		Agent:     wire.Agent{Name: s.Agent.Name, Status: wire.AgentStatus(s.Agent.Status), Version: s.Agent.Version, Message: s.Agent.Message},
		Observers: make([]wire.Observer, 0, min(len(s.Observers), maxObservers)),
	}
	for _, m := range s.Agent.AuthMethods {
		frame.Agent.AuthMethods = append(frame.Agent.AuthMethods, wire.AuthMethod{
			MethodID: m.ID, Name: m.Name, Description: m.Description, Command: m.Command,
		})
	}
	if p := s.Agent.PromptCapabilities; p != nil {
		prompts := wire.PromptCapabilities(*p)
		frame.Agent.PromptCapabilities = &prompts
	}
	if !s.Turn.Since.IsZero() {
		since := s.Turn.Since.UTC()
		frame.Turn.Since = &since
	}
	if i := s.Interruption; i != nil {
		frame.Interruption = interruptionOf(*i)
	}
	if r := s.Restore; r != nil {
		restore := wire.Restore(*r)
		frame.Restore = &restore
	}
	if !s.Agent.RestartAt.IsZero() {
		at := s.Agent.RestartAt.UTC()
		frame.Agent.RestartAt = &at
	}
	for _, item := range s.Queue {
		frame.Queue = append(frame.Queue, itemOf(item))
	}
	for _, o := range s.Observers[:min(len(s.Observers), maxObservers)] {
		frame.Observers = append(frame.Observers, wire.Observer{
			ClientID: o.ClientID, Actor: o.Actor, Activity: wire.Activity(o.Activity), Seq: o.Seq,
		})
	}
	return frame
}

func interruptionOf(i state.Interruption) *wire.Interruption {
	return &wire.Interruption{
		InterruptionID: i.ID, Turn: i.Turn, Reason: i.Reason, Phase: i.Phase, AtSeq: i.AtSeq, At: i.At.UTC(), Held: i.Held,
	}
}

func itemOf(i queue.Item) wire.QueueItem {
	item := wire.QueueItem{PromptID: i.PromptID, Text: i.Text, Title: i.Title, Actor: i.Actor, ByID: i.ByID, QueuedAt: i.QueuedAt, ScheduledAt: i.ScheduledAt}
	for _, a := range i.Attachments {
		item.Attachments = append(item.Attachments, event.Attachment(a))
	}
	return item
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

func resolvedFrame(requestID, sessionID string, o event.PermissionOutcome) *wire.PermissionResolved {
	return &wire.PermissionResolved{
		RequestID: requestID, SessionID: sessionID, PermissionID: o.PermissionID,
		Outcome: o.Outcome, OptionID: o.OptionID, By: o.By, ByID: o.ByID,
	}
}

// infoFor returns one line of the session list for the holder of a grant.
func (s *Server) infoFor(g auth.Grant, i list.Info) wire.SessionInfo {
	line := wire.SessionInfo{
		SessionID: i.SessionID, Name: i.Name, Agent: i.Agent, Workspace: i.Workspace, ProjectRoot: i.ProjectRoot,
		CreatedAt: i.CreatedAt.UTC().Truncate(time.Microsecond), UpdatedAt: i.UpdatedAt.UTC().Truncate(time.Microsecond),
		Status: wire.SessionStatus(i.Status), EventCount: i.EventCount, MinSeq: i.MinSeq, MaxSeq: i.MaxSeq, Epoch: i.Epoch,
		Archived: i.Archived, Pinned: i.Pinned, Imported: i.Imported, LastLine: i.LastLine,
	}
	if f := i.ForkedFrom; f != nil {
		line.ForkedFrom = &wire.Forked{SessionID: f.SessionID, Seq: f.Seq}
	}
	for _, f := range i.Forks {
		line.Forks = append(line.Forks, wire.Forked{SessionID: f.SessionID, Seq: f.Seq})
	}
	if seq, known := s.manager.Reads().Of(g.Person(), i); known {
		line.ReadSeq = &seq
	}
	return line
}

// validID reports whether id has the form of a session id. No other string is ever
// looked up.
func validID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// queueSize returns the limit of waiting prompts in a session.
func queueSize(s *session.Settings) int {
	if s.Queue.MaxSize > 0 {
		return s.Queue.MaxSize
	}
	return 10
}
