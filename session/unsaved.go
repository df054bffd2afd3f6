package session

import (
	"errors"
	"syscall"
	"time"
)

// unsavedQueue is a queue file that could not be written, and the time of the next
// attempt.
type unsavedQueue struct {
	shown   *shown
	why     string // empty if it can be written
	probeAt time.Time
}

// probe retries a failed save and updates health, so that the problem ends with its
// cause.
func (u *unsavedQueue) probe(l *foldedLog, now time.Time) {
	err := l.queue.Err()
	if err != nil && u.why != "" && !now.Before(u.probeAt) {
		err = l.queue.Retry()
		u.probeAt = now.Add(probeInterval)
	}
	why := whyUnsaved(err)
	if why != u.why {
		if u.why, u.probeAt = why, now.Add(probeInterval); why == "" {
			u.shown.unsaved.Store(nil)
		} else {
			u.shown.unsaved.Store(&why)
		}
	}
	if why != "" {
		l.wake(u.probeAt)
	}
}

// whyUnsaved returns why a file could not be written, without its path; empty if it
// was written.
func whyUnsaved(err error) string {
	if err == nil {
		return ""
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return "the system refuses it"
}

// queueProblem describes a queue file that cannot be written.
func queueProblem(id, why string) Problem {
	switch why {
	case syscall.ENOSPC.Error(), syscall.EDQUOT.Error():
		return Problem{id, ProblemBlocked, "there is no space left to write the session's waiting prompts", freeSpaceWords}
	}
	return Problem{id, ProblemDamaged, "the session's waiting prompts cannot be written: " + why, queueWords}
}

const queueWords = "check the device and the session's queue.json; prompts are refused while the agent works, and the hub retries by itself"
