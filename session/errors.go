package session

import (
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// Errors of requests. Each is wrapped with words for a person.
var (
	// ErrInvalid: a field is missing or cannot be.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no such session, prompt, request or agent.
	ErrNotFound = errors.New("not found")
	// ErrConflict: it contradicts the present state.
	ErrConflict = errors.New("conflict")
	// ErrBusy: a limit is reached, or the agent is at work; later it may do.
	ErrBusy = errors.New("busy")
	// ErrUnavailable: nothing can be written or the hub is ending; try again.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge: more bytes than are accepted.
	ErrTooLarge = errors.New("too large")
	// ErrForbidden: the configuration does not allow it.
	ErrForbidden = errors.New("forbidden")
)

// AlreadyResolved says that a permission request was settled before.
type AlreadyResolved struct {
	// Winner is the outcome that counts.
	Winner event.PermissionOutcome
}

// Error names the winner.
func (e *AlreadyResolved) Error() string {
	return fmt.Sprintf("permission request %s was already answered by %s", e.Winner.PermissionID, e.Winner.By)
}
