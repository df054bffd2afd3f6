package state

import "github.com/abidehub/abide/session/event"

// Observer is one client that follows the session.
type Observer struct {
	ClientID string
	Presence
}

// Activity is a person's activity at a screen.
type Activity string

const (
	Viewing Activity = "viewing"
	Typing  Activity = "typing"
	Away    Activity = "away" // the screen is not visible
)

// Values lists the set.
func (Activity) Values() []string { return []string{"viewing", "typing", "away"} }

// Presence is the last report of an observer.
type Presence struct {
	Actor string
	// Device is the id of the screen's credential.
	Device   string
	Activity Activity
	// Viewer means that the observer may not answer, so no policy waits for it.
	Viewer bool
	// Seq is the last event the client has applied.
	Seq event.Seq
}
