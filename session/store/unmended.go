package store

import (
	"errors"
	"fmt"
	"syscall"
)

// unmended is a log that recovery could not mend for lack of room. It can be read,
// Append gives ErrBlocked, and the keeper tries recovery again. The holder of the
// pen owns it.
type unmended struct {
	file  File // the active file, locked
	prior prior
}

// readable makes a log of a recovery that failed with why, because the device is
// full. It ends where the log is known to be on the device. If that is not known,
// the error is why.
func (r *recovery) readable(file File, why error) (*Log, error) {
	if !r.hasMeta || r.scan == nil || r.active == nil {
		return nil, why
	}
	end, err := r.bringShown(file)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	l := newLog(r.log.id, r.dir, r.log.runID, r.log.opts)
	active := &segment{fs: r.fs, first: r.active.first, path: r.active.path}
	active.index.copyOf(&r.active.index)
	l.segs.list = append(r.sealed, active)
	l.marks.reset(r.firstSeqOf(l.segs.list), end)
	l.touched.Store(r.meta.UpdatedAt.UnixMicro())
	l.metadataFile.meta, l.metadataFile.labels = r.meta, r.log.metadataFile.labels
	l.unmended.Store(&unmended{file: file, prior: r.prior})
	l.health.setDamage(r.log.health.get().Damage)
	l.health.block(why)
	l.opts.Logger.Warn("no room to mend the log; it can only be read until there is", "session", l.id, "err", why)
	l.keeper.start()
	l.keeper.poke() // it tries again until there is room
	return l, nil
}

// bringShown brings the log's good lines to the device and returns their end. Of a
// device that failed before only the checkpoint is believed.
func (r *recovery) bringShown(file File) (position, error) {
	synced := position{seq: r.active.first - 1, first: r.active.first}
	if r.trusted {
		synced = position{seq: r.meta.SyncedSeq, first: r.meta.LogFirst, offset: r.meta.LogBytes, sum: parseHex(r.meta.TailCRC)}
	}
	if r.meta.Frozen || r.suspect {
		return synced, nil
	}
	good := r.scan.good
	good.first = r.active.first
	if r.scan.unended { // readers take whole lines only
		return synced, nil
	}
	if err := renew(file, span{synced.offset, good.offset - synced.offset}); err != nil {
		return synced, err
	}
	if err := r.datasync(file); err != nil {
		return synced, nil
	}
	return good, nil
}

// tryMend mends the log if it is unmended, and reports whether it was.
func (l *Log) tryMend() (was bool, err error) {
	err = l.withPen(func() error {
		if was = l.unmended.Load() != nil; was && !l.pen.closed {
			return l.mend()
		}
		return nil
	})
	return was, err
}

// mend recovers the log once more. The caller holds the pen.
func (l *Log) mend() error {
	u := l.unmended.Load()
	own := newLog(l.id, l.dir, l.runID, l.opts)
	r := recovery{log: own, fs: l.fs, dir: l.dir, prior: u.prior}
	if err := r.run(u.file); err != nil {
		if errors.Is(err, syscall.EIO) {
			u.prior.suspect = true
			l.setFrozen(true)
			l.health.freeze(err) // only Reopen tries again
		}
		return fmt.Errorf("mend log: %w", err)
	}
	defer l.unmended.Store(nil) // after become: until then only labels.json is written
	return l.become(own)
}

// become takes over what was recovered of the same log, with the readers still
// on it. The caller holds the pen.
func (l *Log) become(own *Log) error {
	l.pen.adopt(&own.pen)
	old := l.segs.replace(own.segs.all())
	l.metadataFile.adopt(&own.metadataFile)
	l.health.setDamage(own.health.get().Damage)
	l.touched.Store(own.touched.Load())
	l.tail.drop() // it lacks the lines that only the recovery read
	l.marks.raise(&own.marks)
	l.health.thaw()
	if err := own.health.refusal(); err != nil {
		l.health.freeze(err) // the device failed under the log's writer
	}
	l.bell.Ring()
	l.health.bell.Ring()
	var errs []error
	for _, s := range old {
		errs = append(errs, s.retire())
	}
	return errors.Join(errs...)
}

// whyUnmended says why an unmended log cannot be written.
func (l *Log) whyUnmended() error {
	if err := l.health.refusal(); err != nil {
		return err
	}
	return fmt.Errorf("%w: there is none to mend %s", ErrBlocked, activeName)
}
