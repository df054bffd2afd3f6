package store

import (
	"errors"

	"github.com/abidehub/abide/session/store/logfile"
)

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
	active.index.CopyOf(&r.active.index)
	l.segs.list = append(r.sealed, active)
	l.marks.reset(r.firstSeqOf(l.segs.list), end)
	l.touched.Store(r.meta.UpdatedAt.UnixMicro())
	l.metadataFile.meta, l.metadataFile.labels = r.meta, r.log.metadataFile.labels
	l.repairer.again = l.recoverAgain
	l.repairer.state.Store(&unrepaired{file: file, prior: prior{r.crashed, r.suspect}})
	l.health.setDamage(r.log.health.get().Damage)
	l.health.block(why)
	l.opts.Logger.Warn("no space to repair the log; it can only be read until there is", "session", l.id, "err", why)
	l.flusher.start()
	l.flusher.poke() // it tries again until there is space
	return l, nil
}

// bringShown brings the log's good lines to the device and returns their end. Of a
// device that failed before only the checkpoint is believed.
func (r *recovery) bringShown(file File) (position, error) {
	synced := r.syncedEnd()
	if r.meta.Frozen || r.suspect {
		return synced, nil
	}
	if r.scan.Unended { // readers take whole lines only
		return synced, nil
	}
	if err := renew(file, logfile.Span{Offset: synced.offset, Size: r.scan.Good.Offset - synced.offset}); err != nil {
		return synced, err
	}
	if err := r.datasync(file); err != nil {
		return synced, nil
	}
	return r.scannedEnd(), nil
}

// recoverAgain recovers an unrepaired log once more, aside. taken has the log take the
// result over.
func (l *Log) recoverAgain(u *unrepaired) (taken func() error, err error) {
	own := newLog(l.id, l.dir, l.runID, l.opts)
	if err := newRecovery(own, u.prior).run(u.file); err != nil {
		return nil, err
	}
	return func() error { return l.become(own) }, nil
}

// become takes over the recovered state of the same log while its readers stay. The
// caller holds the write lock.
func (l *Log) become(own *Log) error {
	m := &l.writer
	m.out.place, m.out.marked = own.writer.out.place, own.writer.out.marked
	old := m.segs.replace(own.segs.all())
	m.meta.adopt(&own.metadataFile)
	m.health.setDamage(own.health.get().Damage)
	m.touched.Store(own.touched.Load())
	m.tail.Drop() // it lacks the lines that only the recovery read
	m.marks.raise(&own.marks)
	m.health.thaw()
	if err := own.health.refusal(); err != nil {
		m.health.freeze(err) // the device failed under the log's writer
	}
	m.bell.Ring()
	var errs []error
	for _, s := range old {
		errs = append(errs, s.retire())
	}
	return errors.Join(errs...)
}
