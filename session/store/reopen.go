package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// Reopen brings a frozen log back: the active file is copied to a fresh file, which
// is synced before it takes the place of the old one. The old one is never synced
// again, because the kernel reports a lost page only once. Events that were not
// acknowledged are kept and become visible. If the device fails again the log stays
// frozen. A log that is not frozen is left alone.
func (l *Log) Reopen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.withPen(func() error {
		if l.pen.closed {
			return ErrClosed
		}
		if !l.health.frozen.Load() {
			return nil
		}
		if l.pen.file == nil {
			if err := l.mend(); err != nil {
				return fmt.Errorf("reopen log: %w", errors.Join(err, ErrFrozen))
			}
			return nil
		}
		if err := l.sync.ended(ctx); err != nil {
			return fmt.Errorf("reopen log: %w", err)
		}
		return l.thaw()
	})
}

// thaw does what Reopen says. The caller holds the pen.
func (l *Log) thaw() error {
	if done, err := l.putBack(); err != nil {
		return fmt.Errorf("reopen log: %w", errors.Join(err, ErrFrozen))
	} else if done {
		return nil
	}
	if errors.Is(l.health.refusal(), errUnmarked) {
		if err := l.mark(); err != nil {
			return fmt.Errorf("reopen log: %w", errors.Join(err, ErrFrozen))
		}
		l.thawed(l.pen.next - 1)
		return nil
	}
	if err := l.ownLinesIntact(); err != nil {
		return fmt.Errorf("reopen log: %w", err)
	}
	if err := l.copyActive(); err != nil {
		return fmt.Errorf("reopen log: %w", err)
	}
	return nil
}

// thawed says that the log can be written again.
func (l *Log) thawed(last event.Seq) {
	l.setFrozen(false)
	l.health.thaw()
	l.keeper.poke()
	l.opts.Logger.Info("log reopened", "session", l.id, "seq", last)
}

// copyActive puts a synced copy of the active file in its place. The caller holds the
// pen.
func (l *Log) copyActive() error {
	p := &l.pen
	fresh, err := l.active.placeCopy(p.file, p.offset)
	if fresh == nil {
		return err
	}
	// The name means it from here on, whatever becomes of the directory.
	old := p.seg
	p.seg = &segment{fs: l.fs, first: old.first, path: old.path, file: fresh}
	p.seg.index.copyOf(&old.index)
	p.file, p.ragged = fresh, false
	l.segs.swapLast(p.seg)
	if err := errors.Join(old.retire(), err); err != nil {
		return err
	}
	written, _ := l.marks.positions()
	if l.marks.reached(written) {
		l.bell.Ring()
	}
	l.thawed(written.seq)
	return nil
}

// ownLinesIntact verifies that the lines which this process wrote and could not sync
// read as they were written: the system may have dropped them.
func (l *Log) ownLinesIntact() error {
	p, from := &l.pen, l.pen.opened
	if _, synced := l.marks.positions(); synced.first == p.seg.first && synced.offset > from.offset {
		from = synced
	}
	s := newScan(from.seq)
	if err := s.run(p.file, from.offset, p.offset); err != nil {
		return err
	}
	if s.good.seq != p.next-1 || s.torn().size > 0 || len(s.holes)+len(s.badLines)+s.unverified > 0 {
		return fmt.Errorf("what was not synced is damaged behind seq %d", s.good.seq)
	}
	return nil
}

// beginFile moves the log on to a file that is in place and synced: sealed is
// the name of the one before, last its last seq. Unless the names are durable too,
// nothing of it counts as synced. The caller holds the pen.
func (l *Log) beginFile(sealed string, last event.Seq, file File, final firstLine, durable bool) {
	p := &l.pen
	old := p.seg
	old.seal(sealed, last)
	p.seg = &segment{fs: l.fs, first: last + 1, path: filepath.Join(l.dir, activeName), file: file}
	p.seg.index.add(entry{last + 1, 0})
	p.file, p.offset, p.indexed, p.ragged = file, final.offset, 0, false
	p.opened = position{seq: last}
	p.next = final.seq + 1
	l.segs.push(p.seg)
	l.tail.add(final.seq, final.body)
	l.marks.wrote(final.position, nil)
	if durable {
		l.marks.reached(final.position)
	}
	l.bell.Ring()
	l.retention.excess.Store(true)
	l.keeper.poke()
}
