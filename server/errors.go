package server

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
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

// problem is an error as clients see it: one of a closed set of codes, and a
// message for a person. The hub's log has more about the cause.
type problem struct {
	code       wire.Code
	message    string
	retryAfter time.Duration
	winner     *wire.PermissionResolved
	settled    *wire.Settled // instead of winner, for an interruption
	needs      []string      // the warnings to confirm
	challenge  string        // to be signed by the page, with unauthorized
	ended      bool          // the browser's sign-in ended, so its cache is cleared
	status     int           // HTTP status if it differs from the code's
}

// Error implements error.
func (p *problem) Error() string { return string(p.code) + ": " + p.message }

func invalid(format string, args ...any) *problem {
	return &problem{code: wire.CodeInvalid, message: fmt.Sprintf(format, args...)}
}

func notFound(what string) *problem {
	return &problem{code: wire.CodeNotFound, message: what + " does not exist"}
}

func forbidden() *problem {
	return &problem{code: wire.CodeForbidden, message: "your access does not cover that"}
}

// retryLater is the Retry-After for a limit or a full disk.
const retryLater = 2 * time.Second

// retryOpening is the Retry-After for a session that cannot be opened or written,
// because a person must act first.
const retryOpening = 30 * time.Second

// explain converts any error into the response for the client. It reports whether
// the error was unexpected: then its text is only logged.
func explain(err error, sessionID string) (p *problem, unexpected bool) {
	if errors.As(err, &p) {
		return p, false
	}
	var resolved *state.AlreadyResolved
	var refusal *auth.Refusal
	var tooLong *http.MaxBytesError
	var stuck *session.ProblemError
	var settled *session.AlreadySettled
	var unconfirmed *session.NeedsConfirmation
	switch {
	case errors.As(err, &settled):
		return &problem{
			code: wire.CodeAlreadyResolved, message: settled.Error(),
			settled: &wire.Settled{Outcome: settled.Winner.Outcome, By: settled.Winner.By, ByID: settled.Winner.ByID, At: settled.At.UTC()},
		}, false
	case errors.As(err, &unconfirmed):
		return &problem{code: wire.CodeConflict, message: unconfirmed.Error(), needs: unconfirmed.Needs}, false
	case errors.As(err, &stuck): // before the causes it wraps
		after := retryOpening
		if stuck.Kind == session.ProblemBlocked {
			after = retryLater
		}
		return &problem{code: wire.CodeUnavailable, message: stuck.Error(), retryAfter: after}, stuck.Kind == session.ProblemDamaged
	case errors.As(err, &resolved):
		return &problem{
			code: wire.CodeAlreadyResolved, message: resolved.Error(),
			winner: resolvedFrame("", sessionID, resolved.Winner),
		}, false
	case errors.As(err, &refusal):
		return refused(refusal), false
	case errors.As(err, &tooLong):
		return &problem{code: wire.CodeTooLarge, message: fmt.Sprintf("the request is larger than %d bytes", tooLong.Limit)}, false
	case errors.Is(err, state.ErrInvalid), errors.Is(err, auth.ErrInvalid):
		return &problem{code: wire.CodeInvalid, message: words(err)}, false
	case errors.Is(err, state.ErrNotFound), errors.Is(err, auth.ErrNotFound):
		return &problem{code: wire.CodeNotFound, message: words(err)}, false
	case errors.Is(err, state.ErrConflict):
		return &problem{code: wire.CodeConflict, message: words(err)}, false
	case errors.Is(err, state.ErrBusy):
		return &problem{code: wire.CodeBusy, message: words(err), retryAfter: retryLater}, false
	case errors.Is(err, state.ErrUnavailable):
		return &problem{code: wire.CodeUnavailable, message: withoutFolders(words(err), err), retryAfter: retryLater}, false
	case errors.Is(err, state.ErrTooLarge):
		return &problem{code: wire.CodeTooLarge, message: words(err)}, false
	case errors.Is(err, state.ErrForbidden):
		return &problem{code: wire.CodeForbidden, message: words(err)}, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &problem{code: wire.CodeUnavailable, message: "it took too long or the hub is ending", retryAfter: retryLater}, false
	}
	return &problem{code: wire.CodeInternal, message: "something went wrong in the hub; its log says what"}, true
}

// words returns an error's text without the sentinel's, which the code expresses.
func words(err error) string {
	text := err.Error()
	for _, sentinel := range []error{
		state.ErrInvalid, state.ErrNotFound, state.ErrConflict, state.ErrBusy,
		state.ErrUnavailable, state.ErrTooLarge, state.ErrForbidden,
	} {
		if rest, found := strings.CutPrefix(text, sentinel.Error()+": "); found {
			return rest
		}
	}
	return text
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

func refused(r *auth.Refusal) *problem {
	p := &problem{code: wire.CodeForbidden, message: r.Message, status: r.Status, retryAfter: r.RetryAfter, challenge: r.Challenge, ended: r.Ended}
	switch r.Status {
	case http.StatusUnauthorized:
		p.code = wire.CodeUnauthorized
	case http.StatusTooManyRequests:
		p.code = wire.CodeBusy
	}
	return p
}

func (p *problem) httpStatus() int {
	if p.status != 0 {
		return p.status
	}
	switch p.code {
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

func (p *problem) write(w http.ResponseWriter) {
	answer := wire.Refusal{Code: p.code, Message: p.message, RetryAfterMS: p.retryAfter.Milliseconds(), Needs: p.needs, Challenge: p.challenge}
	switch {
	case p.winner != nil:
		answer.Winner = p.winner
	case p.settled != nil:
		answer.Winner = p.settled
	}
	body, err := json.Marshal(wire.Refused{Error: answer})
	if err != nil { // a struct of strings and numbers
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.retryAfter+time.Second-1)/time.Second)))
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

func (p *problem) frame(requestID, sessionID string) *wire.Error {
	return &wire.Error{
		RequestID: requestID, SessionID: sessionID, Code: p.code, Message: p.message,
		RetryAfterMS: p.retryAfter.Milliseconds(), Winner: p.winner,
		Settled: p.settled, Needs: p.needs,
	}
}
