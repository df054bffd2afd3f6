package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// Reopen brings a frozen log back: what was not on the device when it failed is
// copied to a fresh file, which is synced before it takes the place of the old
// one. The old file keeps what was synced and is never synced again, because the
// kernel reports a lost page only once. Events that were not acknowledged are
// kept and become visible. If the device fails again the log stays frozen. A log
// that is not frozen is left alone.
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
	p := &l.pen
	written, synced := l.marks.positions()
	if done, err := l.putBack(); err != nil {
		return fmt.Errorf("reopen log: %w", errors.Join(err, ErrFrozen))
	} else if done {
		return nil
	}
	if errors.Is(l.health.refusal(), errUnmarked) {
		if err := l.mark(); err != nil {
			return fmt.Errorf("reopen log: %w", errors.Join(err, ErrFrozen))
		}
		l.thawed(written.seq)
		return nil
	}
	if l.copyWhole {
		if err := l.copyActive(); err != nil {
			return fmt.Errorf("reopen log: %w", err)
		}
		return nil
	}
	lines, err := l.unsynced(synced)
	if err != nil {
		return fmt.Errorf("reopen log: %w", err)
	}
	file, final, err := l.makeSegment(synced, p.next, lines)
	if err != nil {
		return fmt.Errorf("reopen log: %w", err)
	}
	sealed := filepath.Join(l.dir, sealedName(p.seg.first, synced.seq))
	swapped, err := l.active.swap(sealed)
	if swapped {
		l.beginFile(sealed, synced.seq, file, final, err == nil)
	}
	if err != nil {
		if !swapped {
			err = errors.Join(err, file.Close())
		}
		return fmt.Errorf("reopen log: %w", err)
	}
	l.active.cutOff(sealed, synced)
	l.thawed(final.seq)
	return nil
}

// thawed says that the log can be written again.
func (l *Log) thawed(last event.Seq) {
	l.setFrozen(false)
	l.health.thaw()
	l.keeper.poke()
	l.opts.Logger.Info("log reopened", "session", l.id, "seq", last)
}

// copyActive puts a synced copy of the active file in its place, all of it: where
// no line of the file is known to be on the device, or its name. The caller holds
// the pen.
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
		l.copyWhole = true
		return err
	}
	l.copyWhole = false
	written, _ := l.marks.positions()
	if l.marks.reached(written) {
		l.bell.Ring()
	}
	l.thawed(written.seq)
	return nil
}

// unsynced reads the lines behind synced, and makes sure that they are all there
// and as they were written.
func (l *Log) unsynced(synced position) ([]byte, error) {
	p := &l.pen
	text := make([]byte, p.offset-synced.offset)
	if n, err := p.file.ReadAt(text, synced.offset); n < len(text) {
		return nil, fmt.Errorf("read back what was not synced: %w", err)
	}
	s := newScan(synced.seq)
	if err := s.run(bytesAt(text), 0, int64(len(text))); err != nil {
		return nil, err
	}
	if s.good.seq != p.next-1 || s.torn().size > 0 || len(s.holes)+len(s.badLines)+s.unverified > 0 {
		return nil, fmt.Errorf("what was not synced is damaged behind seq %d", s.good.seq)
	}
	return text, nil
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
	p.next = final.seq + 1
	l.segs.push(p.seg)
	l.tail.add(final.seq, final.body)
	l.marks.wrote(final.position, nil)
	if l.copyWhole = !durable; durable {
		l.marks.reached(final.position)
	}
	l.bell.Ring()
	l.retention.excess.Store(true)
	l.keeper.poke()
}
