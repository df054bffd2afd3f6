package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

// retry says when something that failed is tried again: after pauses that grow.
type retry struct {
	at    time.Time
	pause time.Duration
	never bool // only a person may
}

// failed begins the next pause, the first of which is given.
func (r *retry) failed(first time.Duration) {
	r.pause = min(max(2*r.pause, first), retryLast)
	r.at = time.Now().Add(r.pause)
}

// takeOver makes the log this process's own. The lock is held.
func (f *follower) takeOver() error {
	l := f.log
	file := f.file
	f.file = nil
	own, err := f.recover(file)
	if err != nil {
		return f.cannotTakeOver(err)
	}
	return l.withPen(func() error {
		if l.pen.closed {
			return own.segs.close()
		}
		return l.become(own)
	})
}

// cannotTakeOver leaves the log readable. It is tried again with growing pauses,
// without room and while something else is in the way: an attempt changes files of
// the watched directory, so that one with every look would call for the next. What a
// device failed to sync it would say is synced the next time, so then a person
// decides, and the end of the log is copied: see Reopen.
func (f *follower) cannotTakeOver(err error) error {
	l := f.log
	if isFull(err) && f.wait(err) {
		f.retry.failed(l.opts.FollowEvery)
		return f.catchUp()
	}
	if errors.Is(err, syscall.EIO) {
		f.retry.never = true
	}
	f.retry.failed(l.opts.FollowEvery)
	l.health.freeze(err)
	return fmt.Errorf("take over: %w", err)
}

// takeOverAgain tries once more what failed, when it is time to.
func (f *follower) takeOverAgain(ctx context.Context) (mine bool, err error) {
	if f.retry.never || time.Now().Before(f.retry.at) {
		return false, nil
	}
	err = f.log.Reopen(ctx)
	if err != nil {
		f.retry.never = errors.Is(err, syscall.EIO)
		f.retry.failed(f.log.opts.FollowEvery)
	}
	return !f.log.foreign.Load(), err
}

// waits reports whether it is too early to try once more whether there is room.
func (f *follower) waits() bool {
	return f.log.health.blocked.Load() && time.Now().Before(f.retry.at)
}

// recover recovers the log as one that only this process has. The active file
// is locked; after an error it is closed.
func (f *follower) recover(file File) (*Log, error) {
	l := f.log
	own := newLog(l.id, l.dir, l.runID, l.opts)
	r := recovery{log: own, fs: l.fs, dir: l.dir, prior: f.prior}
	if err := r.run(file); err != nil {
		if errors.Is(err, syscall.EIO) {
			f.distrust() // another attempt must not believe the device
		}
		return nil, errors.Join(err, file.Close())
	}
	return own, nil
}

// distrust notes that the device failed, for the next attempt and for the next run.
func (f *follower) distrust() {
	f.prior.suspect = true
	f.log.setFrozen(true)
}

// reclaim takes over a log once more that could not be when its writer was gone.
// The caller holds the pen.
func (f *follower) reclaim(ctx context.Context) error {
	l := f.log
	file, err := f.lock(ctx)
	if err != nil {
		return err
	}
	own, err := f.recover(file)
	if err != nil {
		return err
	}
	defer close(f.reclaimed) // it is foreign no more, so this happens once
	l.health.thaw()
	return l.become(own)
}

// become takes over what was recovered of the same log, with the readers still
// on it. The caller holds the pen.
func (l *Log) become(own *Log) error {
	l.pen.adopt(&own.pen)
	l.copyWhole = own.copyWhole
	old := l.segs.replace(own.segs.all())
	l.sheet.adopt(&own.sheet)
	l.health.setDamage(own.health.get().Damage)
	l.touched.Store(own.touched.Load())
	l.tail.drop() // it lacks what only the recovery read, and would answer for it
	l.marks.raise(&own.marks)
	l.foreign.Store(false)
	l.health.unblock()
	if err := own.health.refusal(); err != nil {
		l.health.freeze(err) // the device failed its writer
	}
	l.bell.Ring()
	l.health.bell.Ring()
	var errs []error
	for _, s := range old {
		errs = append(errs, s.retire())
	}
	return errors.Join(errs...)
}

// wait goes on reading a log that nobody writes and that there is no room to
// mend.
func (f *follower) wait(full error) bool {
	file, err := f.log.fs.OpenRW(filepath.Join(f.log.dir, activeName))
	if err != nil {
		return false
	}
	f.file = file
	f.countAll()
	f.block(full)
	return true
}

// countAll says that all that is in the log counts, since nobody writes it, once
// it is on the device. If it cannot be brought there the end of the log is shown
// when the log is mended. A device that failed the writer is not asked: it would
// say that it has what it lost.
func (f *follower) countAll() {
	if f.alone = false; f.prior.suspect || f.told.Frozen {
		return
	}
	err := f.renew()
	if err == nil {
		err = f.file.Datasync()
	}
	f.alone = err == nil
	if errors.Is(err, syscall.EIO) {
		f.distrust()
	}
}

// renew writes what lies behind the checkpoint once more: see there.
func (f *follower) renew() error {
	size, err := sizeOf(f.file)
	if err != nil {
		return err
	}
	from := int64(0)
	if f.told.LogFirst == f.active.first {
		from = min(f.told.LogBytes, size)
	}
	return renew(f.file, span{from, size - from})
}

// block says that there is no room to mend the log.
func (f *follower) block(full error) {
	if !f.log.health.blocked.Load() {
		f.log.opts.Logger.Warn("there is no room to mend a log; until there is it can be read only", "session", f.log.id, "err", full)
	}
	f.log.health.block(full)
}

// whyReadOnly says why a log cannot be written that this process only reads.
func (l *Log) whyReadOnly() error {
	if err := l.health.refusal(); err != nil {
		return err
	}
	if l.health.blocked.Load() {
		return fmt.Errorf("%w: there is none to mend it", ErrBlocked)
	}
	return ErrReadOnly
}
