package session

import (
	"errors"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
)

// queueFile brings the changes of the queue to its file.
type queueFile struct {
	*foldedLog
	files   *fileWriter
	shown   *shown
	why     string    // why the file cannot be written; empty if it can
	probeAt time.Time // when the next attempt is due
}

// keep writes what follows from the log, and retries a write that failed, so that
// the problem ends with its cause.
func (q *queueFile) keep(now time.Time) {
	switch {
	case q.health.lost: // nothing can be written any more
	case q.why == "":
		q.write(q.queue.Due(), func(error) {})
	case now.Before(q.probeAt):
		q.wake(q.probeAt)
	default:
		q.write(q.queue.Retry(), func(error) {})
	}
}

// write writes a Save, if it is not nil, settles it and calls then.
func (q *queueFile) write(save *queue.Save, then func(error)) {
	if save == nil {
		return
	}
	q.files.add(save.Write, func() {
		err := q.queue.Settle(save)
		if failed := q.queue.Err(); errors.Is(failed, journal.ErrFenced) {
			q.noteLog(failed) // as if an event could not be written
		} else {
			q.noteResult(failed)
		}
		then(err)
	})
}

// noteResult updates the health after a write.
func (q *queueFile) noteResult(err error) {
	why := problem.Why(err)
	if why != "" {
		q.probeAt = time.Now().Add(probeInterval)
	}
	if why == q.why {
		return
	}
	if q.why = why; why == "" {
		q.shown.unsaved.Store(nil)
		return
	}
	q.shown.unsaved.Store(&why)
	q.logger.Warn("queue file could not be written", "err", err)
}
