package api

import (
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// maxObservers limits the observers in a state. With a thousand observers, each
// would otherwise get a thousand names.
const maxObservers = 50

// StateOf returns a session's state as clients get it.
func StateOf(s session.State) *wire.State {
	frame := &wire.State{
		SessionID: s.SessionID, AtSeq: s.AtSeq,
		Turn: s.Turn, Agent: s.Agent,
		PendingPermissions: append([]string{}, s.PendingPermissions...),
		Queue:              make([]wire.QueueItem, 0, len(s.Queue)),
		Mode:               s.Mode, Config: s.Config, Commands: s.Commands, Usage: s.Usage, Interruption: s.Interruption, Paused: s.Paused, Suggestions: s.Suggestions, Restore: s.Restore,
		Observers: make([]wire.Observer, 0, min(len(s.Observers), maxObservers)),
	}
	for _, item := range s.Queue {
		frame.Queue = append(frame.Queue, ItemOf(item))
	}
	for _, o := range s.Observers[:min(len(s.Observers), maxObservers)] {
		frame.Observers = append(frame.Observers, wire.Observer{
			ClientID: o.ClientID, Actor: o.Actor, Activity: o.Activity, Seq: o.Seq,
		})
	}
	return frame
}

// StateFrom is the inverse of StateOf, for the state of a machine's session.
func StateFrom(f wire.State) session.State {
	s := session.State{
		SessionID: f.SessionID, AtSeq: f.AtSeq, Turn: f.Turn, Agent: f.Agent, PendingPermissions: f.PendingPermissions,
		Mode: f.Mode, Config: f.Config, Commands: f.Commands, Usage: f.Usage, Interruption: f.Interruption, Paused: f.Paused, Suggestions: f.Suggestions, Restore: f.Restore,
	}
	if s.Turn.State == "" {
		s.Turn.State = state.TurnIdle
	}
	if s.Agent.Status == "" {
		s.Agent.Status = state.AgentAbsent
	}
	for _, i := range f.Queue {
		item := queue.Item{PromptID: i.PromptID, Text: i.Text, Title: i.Title, Actor: i.Actor, ByID: i.ByID, Author: i.Author, AuthorID: i.AuthorID, QueuedAt: i.QueuedAt, ScheduledAt: i.ScheduledAt}
		for _, a := range i.Attachments {
			item.Attachments = append(item.Attachments, queue.Attachment(a))
		}
		s.Queue = append(s.Queue, item)
	}
	for _, o := range f.Observers {
		s.Observers = append(s.Observers, state.Observer{ClientID: o.ClientID, Presence: state.Presence{Actor: o.Actor, Activity: o.Activity, Seq: o.Seq}})
	}
	return s
}

func ItemOf(i queue.Item) wire.QueueItem {
	item := wire.QueueItem{PromptID: i.PromptID, Text: i.Text, Title: i.Title, Actor: i.Actor, ByID: i.ByID, Author: i.Author, AuthorID: i.AuthorID, QueuedAt: i.QueuedAt, ScheduledAt: i.ScheduledAt}
	for _, a := range i.Attachments {
		item.Attachments = append(item.Attachments, event.Attachment(a))
	}
	return item
}

func ResolvedFrame(requestID, sessionID string, o event.PermissionOutcome) *wire.PermissionResolved {
	return &wire.PermissionResolved{
		RequestID: requestID, SessionID: sessionID, PermissionID: o.PermissionID,
		Outcome: o.Outcome, OptionID: o.OptionID, By: o.By, ByID: o.ByID,
	}
}

// ValidID reports whether id has the form of a session id. No other string is ever
// looked up.
func ValidID(id string) bool {
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
