package store

import (
	"errors"

	"github.com/abidehub/abide/session/store/logfile"
)

// readable returns a log whose recovery failed with why, because the device is
// full. The log ends where it is known to be synced. If that is unknown, the error
// is why.
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
	l.flusher.poke() // it retries until there is space
	return l, nil
}

// bringShown syncs the log's good lines and returns their end. If the device failed
// before, only the checkpoint is trusted.
func (r *recovery) bringShown(file File) (position, error) {
	synced := r.syncedEnd()
	if r.meta.Frozen || r.suspect {
		return synced, nil
	}
	if r.scan.Unended { // readers need whole lines
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

// recoverAgain runs the recovery of an unrepaired log again, on the side. taken
// makes the log take the result.
func (l *Log) recoverAgain(u *unrepaired) (taken func() error, err error) {
	own := newLog(l.id, l.dir, l.runID, l.opts)
	if err := newRecovery(own, u.prior).run(u.file); err != nil {
		return nil, err
	}
	return func() error { return l.become(own) }, nil
}

// become takes the recovered state of the same log while its readers stay. The
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
