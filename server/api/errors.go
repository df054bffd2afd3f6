package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// Problem is an error as clients see it: one of a closed set of codes, and a
// message for a person. The hub's log has more about the cause.
type Problem struct {
	Code       wire.Code
	Message    string
	RetryAfter time.Duration
	field      string // of the request's body
	winner     *wire.Winner
	needs      []string // the warnings to confirm
	challenge  string   // to be signed by the page, with unauthorized
	ended      bool     // the browser's sign-in ended, so its cache is cleared
	Status     int      // HTTP status if it differs from the code's
}

// Error implements error.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Message }

func Invalid(format string, args ...any) *Problem {
	return &Problem{Code: wire.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

func NotFound(what string) *Problem {
	return &Problem{Code: wire.CodeNotFound, Message: what + " does not exist"}
}

func Forbidden() *Problem {
	return &Problem{Code: wire.CodeForbidden, Message: "your access does not cover that"}
}

// RetryLater is the Retry-After for a limit or a full disk.
const RetryLater = 2 * time.Second

// retryOpening is the Retry-After for a session that cannot be opened or written,
// because a person must act first.
const retryOpening = 30 * time.Second

// Explain converts any error into the response for the client. It reports whether
// the error was unexpected: then its text is only logged.
func Explain(err error, sessionID string) (p *Problem, unexpected bool) {
	if errors.As(err, &p) {
		return p, false
	}
	var resolved *state.AlreadyResolved
	var refusal *auth.Refusal
	var tooLong *http.MaxBytesError
	var stuck *problem.Error
	var settled *resume.AlreadySettled
	var unconfirmed *resume.NeedsConfirmation
	switch {
	case errors.As(err, &settled):
		at := settled.At.UTC()
		return &Problem{
			Code: wire.CodeAlreadyResolved, Message: settled.Error(),
			winner: &wire.Winner{Outcome: string(settled.Winner.Outcome), By: settled.Winner.By, ByID: settled.Winner.ByID, At: &at},
		}, false
	case errors.As(err, &unconfirmed):
		return &Problem{Code: wire.CodeConflict, Message: unconfirmed.Error(), needs: unconfirmed.Needs}, false
	case errors.As(err, &stuck): // before the causes it wraps
		after := retryOpening
		if stuck.Kind == problem.Blocked {
			after = RetryLater
		}
		return &Problem{Code: wire.CodeUnavailable, Message: stuck.Error(), RetryAfter: after}, stuck.Kind == problem.Damaged
	case errors.As(err, &resolved):
		return &Problem{
			Code: wire.CodeAlreadyResolved, Message: resolved.Error(),
			winner: &wire.Winner{
				SessionID: sessionID, PermissionID: resolved.Winner.PermissionID, Outcome: string(resolved.Winner.Outcome),
				OptionID: resolved.Winner.OptionID, By: resolved.Winner.By, ByID: resolved.Winner.ByID,
			},
		}, false
	case errors.As(err, &refusal):
		return refused(refusal), false
	case errors.As(err, &tooLong):
		return &Problem{Code: wire.CodeTooLarge, Message: fmt.Sprintf("the request is larger than %d bytes", tooLong.Limit)}, false
	case errors.Is(err, state.ErrInvalid), errors.Is(err, auth.ErrInvalid):
		return &Problem{Code: wire.CodeInvalid, Message: state.Words(err), field: state.FieldOf(err)}, false
	case errors.Is(err, state.ErrNotFound), errors.Is(err, auth.ErrNotFound):
		return &Problem{Code: wire.CodeNotFound, Message: state.Words(err)}, false
	case errors.Is(err, state.ErrConflict):
		return &Problem{Code: wire.CodeConflict, Message: state.Words(err), field: state.FieldOf(err)}, false
	case errors.Is(err, state.ErrBusy):
		return &Problem{Code: wire.CodeBusy, Message: state.Words(err), RetryAfter: RetryLater}, false
	case errors.Is(err, state.ErrUnavailable):
		return &Problem{Code: wire.CodeUnavailable, Message: withoutFolders(state.Words(err), err), RetryAfter: RetryLater}, false
	case errors.Is(err, state.ErrTooLarge):
		return &Problem{Code: wire.CodeTooLarge, Message: state.Words(err)}, false
	case errors.Is(err, state.ErrForbidden):
		return &Problem{Code: wire.CodeForbidden, Message: state.Words(err), field: state.FieldOf(err)}, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Problem{Code: wire.CodeUnavailable, Message: "it took too long or the hub is ending", RetryAfter: RetryLater}, false
	}
	return &Problem{Code: wire.CodeInternal, Message: "something went wrong in the hub; its log says what"}, true
}

// withoutFolders returns the text of an error about the hub's files without their
// paths, which clients need not know.
func withoutFolders(text string, err error) string {
	switch e := err.(type) {
	case *fs.PathError:
		text = strings.ReplaceAll(text, e.Path, filepath.Base(e.Path))
	case *os.LinkError:
		text = strings.ReplaceAll(text, e.Old, filepath.Base(e.Old))
		text = strings.ReplaceAll(text, e.New, filepath.Base(e.New))
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		text = withoutFolders(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			text = withoutFolders(text, part)
		}
	}
	return text
}

func refused(r *auth.Refusal) *Problem {
	p := &Problem{Code: wire.CodeForbidden, Message: r.Message, Status: r.Status, RetryAfter: r.RetryAfter, challenge: r.Challenge, ended: r.Ended}
	switch r.Status {
	case http.StatusUnauthorized:
		p.Code = wire.CodeUnauthorized
	case http.StatusTooManyRequests:
		p.Code = wire.CodeBusy
	}
	return p
}

func (p *Problem) httpStatus() int {
	if p.Status != 0 {
		return p.Status
	}
	switch p.Code {
	case wire.CodeInvalid:
		return http.StatusBadRequest
	case wire.CodeUnauthorized:
		return http.StatusUnauthorized
	case wire.CodeForbidden:
		return http.StatusForbidden
	case wire.CodeNotFound:
		return http.StatusNotFound
	case wire.CodeConflict, wire.CodeAlreadyResolved:
		return http.StatusConflict
	case wire.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case wire.CodeBusy, wire.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (p *Problem) write(w http.ResponseWriter) {
	answer := wire.Refusal{Code: p.Code, Message: p.Message, Field: p.field, RetryAfterMS: p.RetryAfter.Milliseconds(), Winner: p.winner, Needs: p.needs, Challenge: p.challenge}
	body, err := json.Marshal(wire.Refused{Error: answer})
	if err != nil { // a struct of strings and numbers
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.httpStatus() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if p.ended {
		forgetCached(w.Header())
	}
	w.WriteHeader(p.httpStatus())
	w.Write(append(body, '\n')) // an error means that the client is gone
}

// Frame returns the answer to a message on a socket.
func (p *Problem) Frame(requestID, sessionID string) *wire.Error {
	return &wire.Error{
		RequestID: requestID, SessionID: sessionID, Code: p.Code, Message: p.Message,
		RetryAfterMS: p.RetryAfter.Milliseconds(), Winner: p.winner, Needs: p.needs,
	}
}
