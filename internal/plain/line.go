package plain

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/state"
)

// Ago is a time in the past in few characters.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Status wraps a text about a session in the colour of its status.
func (s Style) Status(status state.Status, text string) string {
	switch status {
	case state.StatusNeedsYou, state.StatusInterrupted, state.StatusPaused:
		return s.Yellow(text)
	case state.StatusFailed, state.StatusDamaged:
		return s.Red(text)
	case state.StatusRunning:
		return s.Bold(text)
	}
	return s.Dim(text)
}
