package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// ErrSessionGone says that the session is no more, or never was: stop asking.
var ErrSessionGone = errors.New("session is gone")

// Error is the hub's refusal of one message; the socket lives on.
type Error struct {
	Code    wire.Code
	Message string
	// RetryAfter is how long to wait before asking again; 0 means it is of no
	// use, or at once.
	RetryAfter time.Duration
	// Winner is how a request or an interruption was settled, with already_resolved.
	Winner *wire.Winner
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

func refused(m *wire.Error) error {
	return &Error{
		Code:       m.Code,
		Message:    m.Message,
		RetryAfter: time.Duration(m.RetryAfterMS) * time.Millisecond,
		Winner:     m.Winner,
	}
}

// RefusedError is an HTTP answer other than success, of a route or of the
// upgrade to a socket.
type RefusedError struct {
	// Status is the HTTP status.
	Status int
	// Code and Message are the hub's own words, where it had any.
	Code    wire.Code
	Message string
	// Needs are the warnings to confirm, where a resume was refused for that.
	Needs []string
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("HTTP status %d, %s: this is no answer of a hub", e.Status, e.Message)
	}
	return e.Message
}

// Final reports whether asking again in the same way is of no use.
func (e *RefusedError) Final() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMisdirectedRequest:
		return true
	}
	return false
}

func refusal(status int, body []byte) *RefusedError {
	var answer wire.Refused
	e := &RefusedError{Status: status, Message: http.StatusText(status)}
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		e.Code, e.Message, e.Needs = answer.Error.Code, answer.Error.Message, answer.Error.Needs
	}
	return e
}

// ClosedError says that the hub closed the socket, and why.
type ClosedError struct {
	Code   int
	Reason string
}

// Error implements error.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the hub closed the socket: %d %s", e.Code, e.Reason)
}

// Final reports whether connecting again in the same way is of no use.
func (e *ClosedError) Final() bool {
	return e.Code == wire.CloseRevoked || e.Code == wire.CloseScopeLost || e.Code == wire.CloseSessionGone
}
