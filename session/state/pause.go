package state

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Paused is a pause of a session. Its agent is stopped and its queue is held, until a
// person resumes the session or sends a prompt.
type Paused struct {
	// By names the actor, At is the time in UTC.
	By   string    `json:"by"`
	ByID string    `json:"by_id,omitempty"`
	At   time.Time `json:"at"`
}

// Pauses is the fold's part about pauses and what can be resumed.
type Pauses struct {
	// Now is the pause of a session that is paused; nil if it is not.
	Now *Paused `json:"now,omitempty"`
	// Way is how the next prompt's agent gets the session so far, if a person chose
	// that without a prompt; empty if not.
	Way event.ResumeWay `json:"way,omitempty"`
	// Resumable means that the session waits to be resumed: after a pause, an interruption
	// or a person's mark.
	Resumable bool `json:"resumable,omitempty"`
	// Resumed counts the resumes of a session that was paused, interrupted or resumable, and
	// LastAt is the time of the last one.
	Resumed int       `json:"resumed,omitempty"`
	LastAt  time.Time `json:"last_at,omitzero"`
}

// apply applies an event and reports whether it is about pauses.
func (s *Pauses) apply(at time.Time, p event.Payload) bool {
	switch p := p.(type) {
	case event.SessionPaused:
		s.Now, s.Resumable = &Paused{By: p.By, ByID: p.ByID, At: at.UTC()}, true
	case event.SessionResumed:
		s.Way = p.Way
		if s.Now != nil || s.Resumable {
			s.resumed(at)
		}
	case event.SessionResumable:
		s.Resumable = p.Resumable
	case event.TurnInterrupted:
		s.Resumable = true
	case event.InterruptionSettled:
		if p.Outcome == event.SettledResumed {
			s.resumed(at)
		}
		s.Now, s.Resumable = nil, false
	case event.UserPrompt, event.SessionEnd:
		s.Now, s.Resumable = nil, false
	case event.TurnStart:
		s.Way = ""
	default:
		return false
	}
	return true
}

func (s *Pauses) resumed(at time.Time) {
	s.Now, s.Resumable = nil, false
	s.Resumed++
	s.LastAt = at.UTC()
}
