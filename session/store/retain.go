package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
)

// retention is how much of a log is kept.
type retention struct {
	bytes  atomic.Int64 // most bytes of the log; zero is all of it
	excess atomic.Bool  // there may be more than that
}

// setKeep says how much of the log is kept, which takes effect soon.
func (l *Log) setKeep(bytes int64) {
	l.retention.bytes.Store(bytes)
	if bytes > 0 {
		l.retention.excess.Store(true)
		l.keeper.poke()
	}
}

// trim removes what the log has too much of, if a file was completed or the limit
// changed since it was last looked at.
func (l *Log) trim(ctx context.Context) error {
	keep := l.retention.bytes.Load()
	if keep <= 0 || !l.retention.excess.Swap(false) {
		return nil
	}
	before := event.Seq(l.marks.min.Load())
	first, err := l.Retain(ctx, keep)
	if err != nil {
		l.retention.excess.Store(true)
		return err
	}
	if first > before {
		l.opts.Logger.Info("old events removed", "session", l.id, "from", before, "to", first-1)
	}
	return nil
}

// Retain removes the oldest sealed files of the log until what is left is at
// most maxBytes, and returns the first seq that can still be read. The active
// file is never removed. Readers that ask for removed events get ErrRemoved;
// those that are just reading end first. The new first seq is on the device
// before any file goes, so a crash leaves a file too many, never a hole.
func (l *Log) Retain(ctx context.Context, maxBytes int64) (event.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	minSeq := event.Seq(l.marks.min.Load())
	err := l.withPen(func() error {
		if l.pen.closed {
			return ErrClosed
		}
		if l.pen.file == nil {
			return l.whyUnmended()
		}
		if err := l.health.refusal(); err != nil {
			return err
		}
		first, err := l.firstWithin(maxBytes)
		if err != nil || first <= l.segs.all()[0].first && !l.unremoved {
			return err
		}
		minSeq = first
		return l.removeBelow(first)
	})
	if err != nil {
		return minSeq, fmt.Errorf("remove old events: %w", err)
	}
	return minSeq, nil
}

// firstWithin is the first seq of the oldest file that may stay.
func (l *Log) firstWithin(maxBytes int64) (event.Seq, error) {
	left := maxBytes - l.pen.offset
	list := l.segs.all()
	first := list[len(list)-1].first
	for i := len(list) - 2; i >= 0; i-- {
		info, err := l.fs.Stat(list[i].currentPath())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that is lost takes no room
			return 0, err
		}
		if err == nil {
			left -= info.Size()
		}
		if left < 0 {
			break
		}
		first = list[i].first
	}
	return first, nil
}

// removeBelow forgets the events below first. Files go in their order, those that
// could not be removed before too: what a failure leaves must end where the log
// begins, or the files between would look lost. The caller holds the pen.
func (l *Log) removeBelow(first event.Seq) error {
	l.marks.remove(first)
	if err := l.saveMetadata(); err != nil {
		return err
	}
	for _, seg := range l.segs.shift(first) {
		if err := seg.retire(); err != nil {
			l.opts.Logger.Warn("removed segment cannot be closed", "session", l.id, "err", err)
		}
	}
	l.unremoved = true // opening the log removes them too
	files, err := sealedSegments(l.fs, l.dir)
	if err != nil {
		return err
	}
	for i, seg := range files {
		if seg.last >= first {
			break
		}
		if _, err := removeOld(seg, append(files[i+1:len(files):len(files)], l.pen.seg), l.id); err != nil {
			return err
		}
	}
	l.unremoved = false
	return l.fs.SyncDir(l.dir)
}

// removeOld removes a file whose events retention has let go, unless it is stray.
// behind are the files that follow it.
func removeOld(seg *segment, behind []*segment, id string) (removed bool, err error) {
	var next *segment
	if len(behind) > 0 {
		next = behind[0]
	}
	fits, err := seg.fits(next, id)
	seg.rest()
	if err != nil || !fits {
		return false, err
	}
	return true, seg.fs.Remove(seg.path)
}
