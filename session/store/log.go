package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/blobs"
)

// Log is one session's events, in order, numbered without gaps. It is safe for
// concurrent use. Reading never waits for writing, and one log never waits for
// another. Each part of it has a type of its own; a part calls those above it in
// this list.
type Log struct {
	core
	reader
	metadataFile
	*blobs.Folder
	syncer    syncer
	writer    writer
	repairer  repairer
	reopener  reopener
	retention retention
	upkeep    upkeep
	flusher   flusher
}

// bellGap is how long news may wait in a burst. A screen cannot tell, and a
// follower that is woken 10,000 times a second has enough to do.
const bellGap = 100 * time.Microsecond

// newLog makes a log that knows nothing yet; recovery fills it.
func newLog(id, dir, runID string, opts Options) *Log {
	l := &Log{core: core{id: id, dir: dir, fs: opts.FS, opts: opts, runID: runID}}
	c, k := &l.core, &l.flusher
	l.marks.strict = opts.Durability == Strict
	l.tail.Limit = opts.TailBytes
	l.bell.Pace(bellGap)
	l.reader = reader{core: c}
	l.metadataFile = metadataFile{core: c, readOnly: l.repairer.unrepaired, changed: k.poke}
	l.Folder = blobs.New(opts.FS, dir, l.refusal, l.full)
	l.syncer = syncer{core: c, active: &l.writer.active, failed: l.writer.freeze}
	l.writer = writer{
		core: c, meta: &l.metadataFile, blobs: l.Folder, sync: &l.syncer, poke: k.poke, completed: l.retention.look,
		active: activeFile{id: id, dir: dir, fs: opts.FS, logger: opts.Logger},
	}
	if !opts.machineTime {
		l.writer.out.clock.Now = opts.Now
	}
	l.reopener = reopener{writer: &l.writer, repairer: &l.repairer}
	l.repairer.writer = &l.writer
	l.retention.writer = &l.writer
	l.upkeep = upkeep{writer: &l.writer, repairer: &l.repairer, retention: &l.retention}
	k.idleAfter, k.flush, k.rest, k.failed = opts.IdleAfter, l.upkeep.flush, l.upkeep.rest, l.upkeep.unflushed
	k.wake = bell.NewSlot()
	k.done = make(chan struct{})
	return l
}

// ID is the session's id.
func (l *Log) ID() string { return l.id }

// Changed returns a channel that is closed when more becomes visible, or the
// log closes. Take it before reading, or news in between is missed.
func (l *Log) Changed() <-chan struct{} { return l.bell.Listen() }

// Marks returns the watermarks, all of one moment.
func (l *Log) Marks() Marks { return l.marks.snapshot() }

// Health says whether the log can be written, and counts its damage.
func (l *Log) Health() Health {
	h := l.health.get()
	if h.State == HealthFrozen {
		h.Absence = l.absence()
	}
	return h
}

// close brings everything to the device, says so in the metadata, and lets the
// files go. Readers and waiting appends get ErrClosed.
func (l *Log) close() error {
	if l.closed.Swap(true) {
		return nil
	}
	var errs []error
	errs = append(errs, l.writer.withWriteLock(func() error { l.writer.out.closed = true; return nil }))
	l.flusher.stop()
	if u := l.repairer.state.Load(); u != nil { // no other goroutine has the write lock any more
		errs = append(errs, l.saveMetadata(), u.file.Close())
	} else {
		errs = append(errs, l.writer.withWriteLock(l.reopener.keepLast))
	}
	if l.health.frozen.Load() {
		// The next run must know not to trust the page cache.
		errs = append(errs, fmt.Errorf("close session %s: %w", l.id, l.health.refusal()), l.saveMetadata())
	} else if !l.repairer.unrepaired() {
		errs = append(errs, l.settle())
		if l.health.frozen.Load() {
			errs = append(errs, l.saveMetadata()) // it was the last sync that failed
		}
	}
	errs = append(errs, l.segs.close())
	l.tail.Drop()
	l.bell.Wait()
	l.bell.RingNow()
	return errors.Join(errs...)
}

// Append gives the drafts the next seqs and writes them with one write(2), in
// order and all or none. It returns once they are written; with a draft of a
// durable type among them, or in strict mode, once they are on the device and
// so visible. Concurrent calls are safe and share writes and syncs. A value over
// 256 KiB becomes a blob first. The drafts are not kept.
//
// ErrBlocked means nothing was written and the call may be repeated. ErrFrozen,
// or the end of ctx while waiting for the device, leaves the drafts' fate open:
// they are in the log, but were not acknowledged.
func (l *Log) Append(ctx context.Context, drafts ...event.Draft) (first, last event.Seq, err error) {
	return l.writer.submit(ctx, drafts)
}

// Reopen brings a frozen log back: the active file is copied to a fresh file, which
// is synced before it takes the place of the old one. The old one is never synced
// again, because the kernel reports a lost page only once. Events that were not
// acknowledged are kept and become visible. If the device fails again the log stays
// frozen. A log that is not frozen is left alone.
func (l *Log) Reopen(ctx context.Context) error { return l.reopener.reopen(ctx) }

// FlushMetadata brings the log and then its metadata to the device, and returns
// once both are there. The session calls it at the end of a turn.
func (l *Log) FlushMetadata(ctx context.Context) error { return l.upkeep.flushMetadata(ctx) }

// refusal is why no blob may be kept any more; nil if it may.
func (l *Log) refusal() error {
	if l.closed.Load() {
		return ErrClosed
	}
	return nil
}

// full notes that there was no space for a value. The flusher finds out when there is.
func (l *Log) full(err error) error {
	l.health.block(err)
	l.flusher.poke()
	return ErrBlocked
}

// settle is the last flush of a log.
func (l *Log) settle() error {
	written, _ := l.marks.positions()
	if err := l.syncer.syncTo(context.Background(), written.seq); err != nil {
		return fmt.Errorf("close session %s: %w", l.id, err)
	}
	l.setWriter(nil)
	return l.saveMetadata()
}

// Present is nil where the log's directory is there, else an ErrAway, or why that
// cannot be told.
func (l *Log) Present() error { return away(l.fs, l.dir) }

// absence is that of a frozen log.
func (l *Log) absence() Absence {
	err := away(l.fs, l.dir)
	if err == nil && errors.Is(l.health.refusal(), ErrAway) {
		return Returned
	}
	return AbsenceOf(err)
}

// Derived is where files lie that are computed from this log.
func (l *Log) Derived() Derived { return Derived{l.fs, filepath.Join(l.dir, derivedDir)} }
