package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// ProblemKind is the kind of a session's problem.
type ProblemKind string

const (
	// ProblemUnreadable: the files cannot be opened, so no event can be shown.
	ProblemUnreadable ProblemKind = "unreadable"
	// ProblemDamaged: a part of the log is lost or inconsistent. The rest is shown,
	// and the session works.
	ProblemDamaged ProblemKind = "damaged"
	// ProblemFrozen: the device failed to store written events.
	ProblemFrozen ProblemKind = "frozen"
	// ProblemBlocked: the device is full. The problem ends by itself once there is
	// space.
	ProblemBlocked ProblemKind = "blocked"
)

// Values lists the kinds there are.
func (ProblemKind) Values() []string {
	return []string{string(ProblemUnreadable), string(ProblemDamaged), string(ProblemFrozen), string(ProblemBlocked)}
}

// Problem is a session's problem, described for a person.
type Problem struct {
	SessionID string
	Kind      ProblemKind
	// The problem (What) and its remedy (Do). Neither contains a path.
	What, Do string
}

// ProblemError is the error of a session that cannot be opened or written. It is an
// ErrUnavailable. The next call tries again.
type ProblemError struct {
	Problem
	// Err is the cause. It may contain paths: it is for the hub's log only.
	Err error
}

// Error is for people who may read the session.
func (e *ProblemError) Error() string { return e.What + "; " + e.Do }

// Unwrap returns the cause.
func (e *ProblemError) Unwrap() error { return e.Err }

// Is makes it an ErrUnavailable.
func (e *ProblemError) Is(target error) bool { return target == state.ErrUnavailable }

// openError describes a failed opening. An error that is not about the session is
// returned unchanged.
func openError(id string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, journal.ErrClosed):
		return fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrInvalidID):
		return fmt.Errorf("open session: %w", logError(err))
	}
	t := Problem{SessionID: id, Kind: ProblemUnreadable}
	switch {
	case errors.Is(err, journal.ErrHeld), errors.Is(err, journal.ErrFenced):
		t = lostProblem(id)
	case errors.Is(err, journal.ErrAway):
		t = awayProblem(id, journal.AbsenceOf(err))
	case errors.Is(err, journal.ErrBlocked), disk.IsFull(err):
		t.Kind, t.What, t.Do = ProblemBlocked, "there is no space left to open the session", freeSpaceWords
	case errors.Is(err, journal.ErrFrozen), errors.Is(err, syscall.EIO):
		t.Kind, t.What, t.Do = ProblemFrozen, "the device failed while the session was opened", deviceWords
	case errors.Is(err, journal.ErrFormat):
		t.What, t.Do = "the session was written by a newer abide", "run that version or a later one"
	case errors.Is(err, fs.ErrPermission):
		t.What, t.Do = "the session's files may not be read by the hub", "give them to the user the hub runs as, with mode 0600"
	default:
		t.What, t.Do = "the session's files cannot be read", "run `abide check "+id+"`, which names what is wrong, or bring the files back from a backup"
	}
	return &ProblemError{Problem: t, Err: err}
}

// problemsOf describes a log's health.
func problemsOf(id string, h journal.Health) []Problem {
	var all []Problem
	add := func(kind ProblemKind, what, do string) { all = append(all, Problem{id, kind, what, do}) }
	if t, stuck := stuckProblem(id, h); stuck {
		all = append(all, t)
	} else if h.Unsaved != "" {
		all = append(all, unsavedProblem(id, h.Unsaved))
	}
	if h.Absence != "" {
		return all // damage is reported once the files can be read
	}
	check := "`abide check " + id + "` names the places"
	if h.Conflicts > 0 {
		add(ProblemDamaged, fmt.Sprintf("%d events are in the log twice with different content; the first of each is shown", h.Conflicts),
			check+"; the others are kept in the session's quarantine")
	}
	if h.Holes > 0 || h.Missing > 0 {
		add(ProblemDamaged, "events are missing from the log; placeholders stand for them", check+"; bring the log back from a backup if you have one")
	}
	if h.Unverified > 0 {
		add(ProblemDamaged, fmt.Sprintf("the checksums of %d events are absent or wrong; they are shown as they are", h.Unverified), check)
	}
	return all
}
