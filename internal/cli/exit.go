package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
)

// Exit codes, the same for every command.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNotFound = 3
	ExitRefused  = 4 // by scope, lock or policy; also where a question waits
	ExitTimeout  = 5
)

// Code is a row of the table of exit codes.
type Code struct {
	Number  int
	Meaning string
}

// ExitCodes is the table of exit codes, the same for every command.
func ExitCodes() []Code {
	return []Code{
		{ExitDone, "done; where a turn is waited for, it completed"},
		{ExitFailed, "failed; where a turn is waited for, it ended in another way: an error, a refusal, a crash, no login, cancelled"},
		{ExitUsage, "used wrongly"},
		{ExitNotFound, "not found: no hub, session, file, agent, question"},
		{ExitRefused, "refused by scope, lock or policy; where a turn or a job is waited for, it waits for a person"},
		{ExitTimeout, "the time of --timeout is over"},
	}
}

// ExitTopic is the page of help about exit codes.
func ExitTopic() *cobra.Command {
	var text strings.Builder
	for _, c := range ExitCodes() {
		fmt.Fprintf(&text, "  %d  %s\n", c.Number, c.Meaning)
	}
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit code of a command says",
		Long: "The exit codes are the same for every command:\n\n" + text.String() +
			"\n`abide record` exits as the command that it records: 126 or 127 if that cannot be\nstarted or is not installed, 128 and the number of the signal that ended it.",
	}
}

// Status ends the program with its code and without another word.
type Status int

// Error implements error.
func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// codeError is an error that names its exit code.
type codeError struct {
	code int
	err  error
}

// Error implements error.
func (e *codeError) Error() string { return e.err.Error() }

// Unwrap implements the interface of package errors.
func (e *codeError) Unwrap() error { return e.err }

// Usagef says that the command line is wrong.
func Usagef(format string, args ...any) error { return withCode(ExitUsage, format, args...) }

func withCode(code int, format string, args ...any) error {
	return &codeError{code: code, err: fmt.Errorf(format, args...)}
}

// ExitCode is the exit code an error stands for, where it is one of this package
// or a hub's refusal.
func ExitCode(err error) (code int, known bool) {
	var status Status
	var own *codeError
	var answer *client.RefusedError
	var frame *client.Error
	switch {
	case errors.As(err, &status):
		return int(status), true
	case errors.As(err, &own):
		return own.code, true
	case errors.Is(err, client.ErrSessionGone):
		return ExitNotFound, true
	case errors.As(err, &answer):
		return exitOfAnswer(answer), true
	case errors.As(err, &frame):
		return exitOf(frame.Code), true
	}
	return 0, false
}

func exitOf(code wire.Code) int {
	switch code {
	case wire.CodeInvalid:
		return ExitUsage
	case wire.CodeNotFound:
		return ExitNotFound
	case wire.CodeConflict, wire.CodeAlreadyResolved, wire.CodeUnauthorized, wire.CodeForbidden, wire.CodeTooLarge:
		return ExitRefused
	}
	return ExitFailed
}

func exitOfAnswer(e *client.RefusedError) int {
	if e.Code != "" {
		return exitOf(e.Code)
	}
	switch e.Status {
	case http.StatusNotFound:
		return ExitNotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusMisdirectedRequest:
		return ExitRefused
	}
	return ExitFailed
}
