package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// setupBound is the time limit of a set-up command.
const setupBound = time.Hour

// setupError is the error of a start whose set-up command failed.
type setupError struct{ cause error }

// Error implements error.
func (e *setupError) Error() string { return "the set-up command failed: " + e.cause.Error() }

// Unwrap returns how it failed.
func (e *setupError) Unwrap() error { return e.cause }

// runSetup runs the set-up command and records how it ended. It is a *setupError if the
// command failed.
func runSetup(run SetUp, s *sink, spec AgentSpec, command []string) error {
	ctx, cancel := context.WithTimeout(s.ctx, setupBound)
	defer cancel()
	err := run(ctx, spec, command, s)
	if s.ctx.Err() != nil {
		return s.ctx.Err() // it was stopped
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end in %v", setupBound)
	}
	outcome, text := state.SetupOutcome{}, "The working copy is set up."
	if err != nil {
		outcome.Failed, text = state.Cut(state.OneLine(err.Error()), 500), "The set-up command failed: "+err.Error()
	}
	if err := s.state(s.ctx, setupNote(outcome, text, event.Actor{})); err != nil {
		return err
	}
	if err != nil {
		return &setupError{err}
	}
	return nil
}

// setupNote is the hub's statement about the end of a set-up.
func setupNote(outcome state.SetupOutcome, text string, by event.Actor) event.Note {
	raw, err := json.Marshal(outcome)
	if err != nil { // encoding strings never fails
		panic(err)
	}
	return event.Note{Method: state.NoteSetup, Text: event.Text(text), Raw: raw, By: by.Name, ByID: by.ID}
}
