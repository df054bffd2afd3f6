package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/packed"
)

// retention is how much of a log is kept.
type retention struct {
	*writer
	bytes  atomic.Int64 // limit of the log's size; zero is no limit
	excess atomic.Bool  // the log may exceed the limit

	unremoved bool // files of removed events still exist; used by the holder of the write lock
}

// setKeep sets the limit, which takes effect soon.
func (r *retention) setKeep(bytes int64) {
	r.bytes.Store(bytes)
	if bytes > 0 {
		r.look()
	}
}

// look schedules a check of the limit.
func (r *retention) look() {
	r.excess.Store(true)
	r.poke()
}

// trim applies the limit if a file was completed or the limit changed since the
// last time.
func (r *retention) trim(ctx context.Context) error {
	keep := r.bytes.Load()
	if keep <= 0 || !r.excess.Swap(false) {
		return nil
	}
	before := event.Seq(r.marks.min.Load())
	first, err := r.retain(ctx, keep)
	if err != nil {
		r.excess.Store(true)
		return err
	}
	if first > before {
		r.opts.Logger.Info("old events removed", "session", r.id, "from", before, "to", first-1)
	}
	return nil
}

// retain removes the oldest sealed files until the log has at most maxBytes, and
// returns the first readable seq. It never removes the active file. Readers that
// ask for removed events get ErrRemoved; running reads finish first. The new first
// seq is on the device before a file is removed, so a crash leaves an extra file,
// never a hole.
func (r *retention) retain(ctx context.Context, maxBytes int64) (event.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	minSeq := event.Seq(r.marks.min.Load())
	err := r.withWriteLock(func() error {
		if r.out.closed {
			return journal.ErrClosed
		}
		if r.out.file == nil {
			return r.noSpaceToRepair()
		}
		if err := r.health.refusal(); err != nil {
			return err
		}
		first, err := r.firstWithin(maxBytes)
		if err != nil || first <= r.segs.all()[0].first && !r.unremoved {
			return err
		}
		minSeq = first
		return r.removeBelow(first)
	})
	if err != nil {
		return minSeq, fmt.Errorf("remove old events: %w", err)
	}
	return minSeq, nil
}

// firstWithin returns the first seq of the oldest file that may stay.
func (r *retention) firstWithin(maxBytes int64) (event.Seq, error) {
	left := maxBytes - r.out.offset
	list := r.segs.all()
	first := list[len(list)-1].first
	for i := len(list) - 2; i >= 0; i-- {
		info, err := packed.Stat(r.fs, list[i].currentPath())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing file takes no space
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

// removeBelow removes the files of events below first, in order, including those
// that could not be removed before. If a removal fails, the remaining files must be
// adjacent to the log, or the files between would count as lost. The caller holds
// the write lock.
func (r *retention) removeBelow(first event.Seq) error {
	r.marks.remove(first)
	if err := r.meta.saveMetadata(); err != nil {
		return err
	}
	for _, seg := range r.segs.shift(first) {
		if err := seg.retire(); err != nil {
			r.opts.Logger.Warn("removed segment cannot be closed", "session", r.id, "err", err)
		}
	}
	r.unremoved = true // opening the log removes them too
	files, err := sealedSegments(r.fs, r.dir)
	if err != nil {
		return err
	}
	for i, seg := range files {
		if seg.last >= first {
			break
		}
		if _, err := removeOld(seg, append(files[i+1:len(files):len(files)], r.out.seg), r.id); err != nil {
			return err
		}
	}
	r.unremoved = false
	return r.fs.SyncDir(r.dir)
}

// removeOld removes a file whose events retention has removed, unless the file is
// stray. behind are the files that follow it.
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
	return true, packed.Remove(seg.fs, seg.path)
}
