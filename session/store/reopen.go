package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// reopener gives a frozen log a new active file. The caller of its methods holds
// the write lock, unless they say otherwise.
type reopener struct {
	*writer
	repairer *repairer
}

// reopen implements Log.Reopen. The caller does not hold the write lock.
func (r *reopener) reopen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.withWriteLock(func() error {
		if r.out.closed {
			return journal.ErrClosed
		}
		if !r.health.frozen.Load() {
			return nil
		}
		if r.out.file == nil {
			if err := r.repairer.repair(); err != nil {
				return fmt.Errorf("reopen log: %w", errors.Join(err, journal.ErrFrozen))
			}
			return nil
		}
		if err := r.sync.ended(ctx); err != nil {
			return fmt.Errorf("reopen log: %w", err)
		}
		return r.thaw()
	})
}

// thaw implements Reopen. The caller holds the write lock.
func (r *reopener) thaw() error {
	if done, err := r.putBack(); err != nil {
		return fmt.Errorf("reopen log: %w", errors.Join(err, journal.ErrFrozen))
	} else if done {
		return nil
	}
	if errors.Is(r.health.refusal(), errUnmarked) {
		if err := r.mark(); err != nil {
			return fmt.Errorf("reopen log: %w", errors.Join(err, journal.ErrFrozen))
		}
		r.thawed(r.out.next - 1)
		return nil
	}
	if err := r.ownLinesIntact(); err != nil {
		return fmt.Errorf("reopen log: %w", err)
	}
	if err := r.copyActive(); err != nil {
		return fmt.Errorf("reopen log: %w", err)
	}
	return nil
}

// thawed records that the log can be written again.
func (r *reopener) thawed(last event.Seq) {
	r.meta.setFrozen(false)
	r.health.thaw()
	r.poke()
	r.opts.Logger.Info("log reopened", "session", r.id, "seq", last)
}

// copyActive replaces the active file by a synced copy. The caller holds the write
// lock.
func (r *reopener) copyActive() error {
	p := &r.out
	fresh, err := r.active.placeCopy(p.file, p.offset)
	if fresh == nil {
		return err
	}
	// From here on the name belongs to the new file, even if the sync of the
	// directory fails.
	old := p.seg
	p.seg = &segment{fs: r.fs, first: old.first, path: old.path, file: fresh}
	p.seg.index.CopyOf(&old.index)
	p.file, p.ragged = fresh, false
	r.segs.swapLast(p.seg)
	if err := errors.Join(old.retire(), err); err != nil {
		return err
	}
	written, _ := r.marks.positions()
	if r.marks.reached(written) {
		r.bell.Ring()
	}
	r.thawed(written.seq)
	return nil
}

// ownLinesIntact verifies that the lines which this process wrote and could not
// sync are unchanged: the system may have dropped them.
func (r *reopener) ownLinesIntact() error {
	p, from := &r.out, r.out.opened
	if _, synced := r.marks.positions(); synced.first == p.seg.first && synced.offset > from.offset {
		from = synced
	}
	s := logfile.NewScan(from.seq, 0)
	if err := s.Run(p.file, from.offset, p.offset); err != nil {
		return err
	}
	if s.Good.Seq != p.next-1 || s.Torn().Size > 0 || len(s.Holes)+len(s.BadLines)+s.Unverified > 0 {
		return fmt.Errorf("unsynced events after seq %d are damaged", s.Good.Seq)
	}
	return nil
}

// unswap undoes half of a swap of the active file.
func (r *reopener) unswap() (bool, error) {
	_, synced := r.marks.positions()
	return r.active.unswap(r.out.file, r.out.seg.first, synced.seq)
}

// putBack gives the open file its name again if it lost that, as a synced copy. It
// reports whether there was anything to do. The caller holds the write lock, and no
// sync runs.
func (r *reopener) putBack() (done bool, err error) {
	p := &r.out
	active := filepath.Join(r.dir, activeName)
	named, err := r.fs.Means(active, p.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !named {
		if named, err = r.unswap(); err != nil {
			return false, err
		}
	}
	if named {
		return false, nil
	}
	return true, r.copyActive()
}

// keepLast stores the last copy of a log whose file was removed or replaced, so
// that it outlives this process. The caller holds the write lock.
func (r *reopener) keepLast() error {
	if r.out.file == nil || errors.Is(r.active.whyTaken(), journal.ErrAway) {
		return nil // the log was not written, or the whole session was deleted
	}
	_, err := r.putBack()
	return err
}
