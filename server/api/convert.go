package api

import (
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

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
