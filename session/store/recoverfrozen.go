package store

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/logfile"
)

// errDistrusted means that a sync of the log failed: the kernel may have dropped
// unwritten pages, and the next sync would falsely succeed. The next opening must
// know.
var errDistrusted = errors.New("the device failed to store the log")

// errFrozenBefore is the reason of a log that is frozen when it is opened.
var errFrozenBefore = errors.New("the device failed while the log was written or opened before")

// renew writes bytes of a file that may not be synced again, unchanged. If the
// process was killed before it could record a failed sync, the next sync covers
// only pages written since then. If the file system needs space even for that, the
// sync is trusted instead.
func renew(file File, part logfile.Span) error {
	err := part.CopyTo(file, part.Offset, file)
	if disk.IsFull(err) {
		return nil
	}
	return err
}

// datasync syncs the active file. If that fails, it first records the failure in
// the metadata for the next run. If that fails too, or there is no metadata, this
// run remembers it: see Store.openEntry. A second sync of the file proves nothing,
// so the log is suspect from here on.
func (r *recovery) datasync(file File) error {
	err := file.Datasync()
	if !errors.Is(err, syscall.EIO) {
		return err
	}
	r.suspect = true
	if r.hasMeta {
		m := r.meta
		m.Frozen, m.FrozenSeq = true, r.shown()
		err = errors.Join(err, writeMetadata(r.fs, r.dir, m))
	}
	return fmt.Errorf("%w: %w", errDistrusted, err)
}

// suspectMeta records in the metadata, and syncs it, that this run's sync failed.
func (r *recovery) suspectMeta() {
	if !r.suspect || r.meta.Frozen {
		return
	}
	r.meta.Frozen, r.changed = true, true
	if !r.hasMeta {
		return // the source for rebuilding it is not known yet
	}
	if err := writeMetadata(r.fs, r.dir, r.meta); err != nil {
		r.log.opts.Logger.Warn("metadata of a frozen log cannot be written", "session", r.log.id, "err", err)
	}
}

// reopen copies the active file of a log whose device failed to a new file. Until
// that has worked, the log is read-only, and only the part up to the checkpoint
// counts as synced, also in the metadata.
func (r *recovery) reopen() {
	l := r.log
	synced := r.syncedEnd()
	l.marks.distrust(synced)
	l.health.freeze(errFrozenBefore)
	r.changed = true
	if err := l.reopener.thaw(); err != nil {
		l.opts.Logger.Error("log stays frozen", "session", l.id, "err", err)
		return
	}
	l.setWriter(nil)
	r.did("copied the log to a fresh file: the device failed behind seq %d", synced.seq)
}
