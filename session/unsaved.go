package session

import (
	"errors"
	"syscall"
	"time"
)

// unsavedQueue is a queue file that could not be written, and when that is tried
// again.
type unsavedQueue struct {
	why     string // empty while it can be written
	probeAt time.Time
}

// probe tries a failed save again and tells health of it, so that the problem ends
// with its cause.
func (u *unsavedQueue) probe(j *journal, now time.Time) {
	err := j.queue.Err()
	if err != nil && u.why != "" && !now.Before(u.probeAt) {
		err = j.queue.Retry()
		u.probeAt = now.Add(probeInterval)
	}
	why := whyUnsaved(err)
	if why != u.why {
		if u.why, u.probeAt = why, now.Add(probeInterval); why == "" {
			j.b.unsaved.Store(nil)
		} else {
			j.b.unsaved.Store(&why)
		}
	}
	if why != "" {
		j.wake(u.probeAt)
	}
}

// whyUnsaved says without a path why a file could not be written; empty if it was.
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

// queueProblem puts into words that the waiting prompts of a session cannot be saved.
func queueProblem(id, why string) Problem {
	switch why {
	case syscall.ENOSPC.Error(), syscall.EDQUOT.Error():
		return Problem{id, ProblemBlocked, "there is no space left to write the session's waiting prompts", freeSpaceWords}
	}
	return Problem{id, ProblemDamaged, "the session's waiting prompts cannot be written: " + why, queueWords}
}

const queueWords = "look at the device, and at what lies in place of the session's queue.json; prompts are refused while the agent works, and it goes on by itself"
