package journal

import (
	"errors"
	"fmt"
)

// Errors that callers test with errors.Is. Implementations wrap them with a message
// for a person.
var (
	// ErrNotFound means that there is no such session or blob.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a session to be imported already exists.
	ErrExists = errors.New("the session exists")
	// ErrInvalidID means that an id does not have the form of ids.
	ErrInvalidID = errors.New("invalid session id")
	// ErrInvalid means that an argument is wrong; retrying cannot help.
	ErrInvalid = errors.New("invalid")
	// ErrBlocked means that the device is full. Nothing was written; the call may
	// be repeated later.
	ErrBlocked = errors.New("no space left to write the log")
	// ErrFrozen means that the device failed to store written events. The log
	// accepts no more events until it is reopened. Unacknowledged events are kept.
	ErrFrozen = errors.New("log is frozen after a device error")
	// ErrFenced means that another holder has a newer lease of the session. Nothing
	// was written, and nothing ever will be through this Log: the session stops its
	// agent and closes. Reopen does not help.
	ErrFenced = errors.New("another holder has the session's lease")
	// ErrMoved means that the next seq of the log is not the expected one. Nothing was
	// written. The caller reads the events it has not seen and decides again.
	ErrMoved = errors.New("the log has another next seq")
	// ErrHeld means that another hub holds the lease of the session.
	ErrHeld = errors.New("another hub has the session")
	// ErrClosed means that the log or the store was closed.
	ErrClosed = errors.New("log is closed")
	// ErrRemoved means that retention removed the requested events.
	ErrRemoved = errors.New("events were removed")
	// ErrAway means that the directory of the session, or of all sessions, is
	// missing. Nothing is lost once it is back.
	ErrAway = errors.New("directory is gone")
	// ErrAllAway is the ErrAway of the directory of all sessions.
	ErrAllAway = fmt.Errorf("sessions' %w", ErrAway)
	// ErrDamaged means that the bytes on the device differ from those written.
	ErrDamaged = errors.New("damaged on the device")
	// ErrFormat means that a newer program wrote the data.
	ErrFormat = errors.New("data is of a newer format")
)
