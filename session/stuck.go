package session

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Health, a failed opening and a refused verb describe an unwritable session with
// the same words. The words are here.
const (
	goneWords      = "delete the session, or put its directory back and reopen it"
	allGoneWords   = "put the directory `sessions` back into the data directory, or mount what it was on, then reopen the session"
	returnedWords  = "reopen the session (POST /api/sessions/ID/reopen): no event is lost"
	freeSpaceWords = "free space on the device; the session then continues by itself"
	deviceWords    = "look at the device and the system's log, then reopen the session (POST /api/sessions/ID/reopen) or restart the hub: acknowledged events are kept"
	frozenWords    = "the log accepts no more events after an error of the device"
	lostWords      = "use it there, or end the session on that hub and open it here again"
	savedWords     = "check the device and the session's metadata.json and labels.json; the hub retries by itself"
	// After its file was removed, only the hub has the data.
	takenWords = "reopen the session (POST /api/sessions/ID/reopen): that restores the data that the hub still has, and copies the file in its place to the session's quarantine; if that fails, copy the file that the hub has open from /proc/%d/fd before the hub ends"
)

// stuckProblem returns the problem of a log that cannot be written, or nil.
func stuckProblem(id string, h journal.Health) (t Problem, stuck bool) {
	t.SessionID = id
	switch {
	case h.State == journal.HealthLost:
		return lostProblem(id), true
	case h.State == journal.HealthBlocked:
		t.Kind, t.What, t.Do = ProblemBlocked, "there is no space left to write the log", freeSpaceWords
	case h.State != journal.HealthFrozen:
		return t, false
	case h.Absence == journal.Away, h.Absence == journal.AllAway:
		return awayProblem(id, h.Absence), true
	case h.Absence == journal.Returned:
		t.Kind, t.What, t.Do = ProblemFrozen, "the session's directory was gone for a while, and is back", returnedWords
		return t, true
	case h.Taken != "":
		t.Kind, t.What, t.Do = ProblemFrozen, "the log accepts no more events: "+h.Taken, fmt.Sprintf(takenWords, os.Getpid())
		return t, true
	default:
		t.Kind, t.What, t.Do = ProblemFrozen, frozenWords, deviceWords
	}
	if h.Unsaved != "" {
		t.What += ": its metadata cannot be written: " + h.Unsaved
	}
	return t, true
}

// lostProblem says that another hub writes the session.
func lostProblem(id string) Problem {
	return Problem{id, ProblemUnreadable, "another hub has the session", lostWords}
}

// awayProblem says which directory is missing.
func awayProblem(id string, which journal.Absence) Problem {
	if which == journal.AllAway {
		return Problem{id, ProblemUnreadable, "the directory of all sessions is gone", allGoneWords}
	}
	return Problem{id, ProblemUnreadable, "the session's directory is gone", goneWords}
}

// unsavedProblem is the problem of metadata that cannot be written while the log
// can.
func unsavedProblem(id, why string) Problem {
	switch why {
	case syscall.ENOSPC.Error(), syscall.EDQUOT.Error():
		return Problem{id, ProblemBlocked, "there is no space left to write the session's metadata", freeSpaceWords}
	}
	return Problem{id, ProblemDamaged, "the session's metadata cannot be written: " + why, savedWords}
}

// stuck is BackgroundSession.stuck.
func (l *foldedLog) stuck(err error) error { return stuckError(l.id, l.log, err) }

func stuckError(id string, log journal.Log, err error) error {
	if t, stuck := stuckProblem(id, log.Health()); stuck && isStuck(err) {
		return &ProblemError{Problem: t, Err: err}
	}
	return logError(err)
}

// blobProblem describes a damaged or missing blob file.
func blobProblem(id string, err error) Problem {
	what := "the file of this value cannot be read: " + whyUnsaved(err)
	if errors.Is(err, journal.ErrDamaged) {
		what = "the file of this value is damaged"
	}
	return Problem{id, ProblemDamaged, what, "`abide check " + id + "` names it: put it back from a backup, or upload the same file again"}
}

func isStuck(err error) bool {
	return errors.Is(err, journal.ErrBlocked) || errors.Is(err, journal.ErrFrozen) || errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrAway)
}

// logError turns a store's error into one of this package's.
func logError(err error) error {
	switch {
	case errors.Is(err, journal.ErrAway):
		return &ProblemError{awayProblem("", journal.AbsenceOf(err)), err}
	case errors.Is(err, journal.ErrBlocked):
		return &ProblemError{Problem{Kind: ProblemBlocked, What: "there is no space left on the device", Do: freeSpaceWords}, err}
	case errors.Is(err, journal.ErrFrozen):
		return &ProblemError{Problem{Kind: ProblemFrozen, What: frozenWords, Do: deviceWords}, err}
	case errors.Is(err, journal.ErrFenced), errors.Is(err, journal.ErrHeld):
		return &ProblemError{lostProblem(""), err}
	case errors.Is(err, journal.ErrClosed):
		return fmt.Errorf("%w: %w", state.ErrUnavailable, err)
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrInvalidID):
		return fmt.Errorf("%w: %w", state.ErrNotFound, err)
	}
	return err
}
