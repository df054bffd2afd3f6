package state

import (
	"errors"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Errors of requests. Each is wrapped with a message for a person.
var (
	// ErrInvalid: a field is missing or invalid.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no such session, prompt, request or agent.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the request contradicts the present state.
	ErrConflict = errors.New("conflict")
	// ErrBusy: a limit is reached, or the agent is busy; try again later.
	ErrBusy = errors.New("busy")
	// ErrUnavailable: nothing can be written or the hub is ending; try again.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge: the data exceeds a limit.
	ErrTooLarge = errors.New("too large")
	// ErrForbidden: the configuration does not allow it.
	ErrForbidden = errors.New("forbidden")
)

// Words returns an error's text without that of its sentinel, which a code or a status
// says.
func Words(err error) string {
	text := err.Error()
	for _, sentinel := range []error{ErrInvalid, ErrNotFound, ErrConflict, ErrBusy, ErrUnavailable, ErrTooLarge, ErrForbidden} {
		if rest, found := strings.CutPrefix(text, sentinel.Error()+": "); found {
			return rest
		}
	}
	return text
}

// fieldError is an error about one field of a request.
type fieldError struct {
	error
	field string
}

// Unwrap returns the error without its field.
func (e *fieldError) Unwrap() error { return e.error }

// About names the field of a request that an error is about, as its body has it:
// policy.preset. An error that names one already keeps it; nil stays nil.
func About(field string, err error) error {
	if err == nil || FieldOf(err) != "" {
		return err
	}
	return &fieldError{err, field}
}

// FieldOf is the field of a request that an error is about; empty if it names none.
func FieldOf(err error) string {
	var of *fieldError
	if errors.As(err, &of) {
		return of.field
	}
	return ""
}

// AlreadyResolved means that a permission request is already settled.
type AlreadyResolved struct {
	// Winner is the outcome that was recorded.
	Winner event.PermissionOutcome
}

// Error includes the winner, and why it answered where that is recorded.
func (e *AlreadyResolved) Error() string {
	words := fmt.Sprintf("permission request %s was already answered by %s", e.Winner.PermissionID, e.Winner.By)
	if e.Winner.Reason != "" {
		words += ": " + e.Winner.Reason
	}
	return words
}
