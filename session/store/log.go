package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
)

// Log is one session's events, in order and numbered without gaps. It is safe for
// concurrent use. Reading never waits for writing, and one log never waits for
// another. Each part has its own type and calls only the parts above it in this
// list.
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
	packer    packer
	upkeep    upkeep
	flusher   flusher
}

// bellGap is how long a bell may be delayed in a burst. A screen cannot tell the
// difference, and it keeps followers from waking 10,000 times a second.
const bellGap = 100 * time.Microsecond

// newLog returns an empty log; recovery fills it.
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
	l.packer = packer{&l.writer}
	l.upkeep = upkeep{writer: &l.writer, repairer: &l.repairer, retention: &l.retention}
	k.idleAfter, k.flush, k.rest, k.failed = opts.IdleAfter, l.upkeep.flush, l.upkeep.rest, l.upkeep.unflushed
	return l
}

// ID is the session's id.
func (l *Log) ID() string { return l.id }

// Changed returns a channel that is closed when more becomes visible, or the log
// closes. Take it before reading, or a change in between is missed.
func (l *Log) Changed() <-chan struct{} { return l.bell.Listen() }

// Marks returns all watermarks at one moment.
func (l *Log) Marks() journal.Marks { return l.marks.snapshot() }

// Pack stores the lines so far in less space.
func (l *Log) Pack(ctx context.Context) error { return l.packer.Pack(ctx) }

// Health returns whether the log can be written, and counts its damage.
func (l *Log) Health() journal.Health {
	h := l.health.get()
	if h.State == journal.HealthFrozen {
		h.Absence = l.absence()
	}
	return h
}

// close syncs the log, records that in the metadata, and closes the files. Readers
// and waiting appends get ErrClosed.
func (l *Log) close() error {
	if l.closed.Swap(true) {
		return nil
	}
	var errs []error
	errs = append(errs, l.writer.withWriteLock(func() error { l.writer.out.closed = true; return nil }))
	l.flusher.stop()
	if u := l.repairer.state.Load(); u != nil { // no other goroutine can have the write lock now
		errs = append(errs, l.saveMetadata(), u.file.Close())
	} else {
		errs = append(errs, l.writer.withWriteLock(l.reopener.keepLast))
	}
	if l.health.frozen.Load() {
		// Tell the next run not to trust the page cache.
		errs = append(errs, fmt.Errorf("close session %s: %w", l.id, l.health.refusal()), l.saveMetadata())
	} else if !l.repairer.unrepaired() {
		errs = append(errs, l.settle())
		if l.health.frozen.Load() {
			errs = append(errs, l.saveMetadata()) // the last sync failed
		}
	}
	errs = append(errs, l.segs.close())
	l.tail.Drop()
	l.bell.Wait()
	l.bell.RingNow()
	return errors.Join(errs...)
}

// Append writes the drafts with the next seqs in one write(2), in order and all or
// none. It returns once they are written. With a draft of a durable type, or in
// strict mode, it returns once they are synced and visible. Concurrent calls are
// safe and share writes and syncs. A value over 256 KiB becomes a blob first. The
// drafts are not retained.
//
// ErrBlocked means that nothing was written and the call may be repeated. After
// ErrFrozen, or if ctx ends while waiting for the device, the result is open: the
// drafts are in the log, but were not acknowledged.
func (l *Log) Append(ctx context.Context, drafts ...event.Draft) (first, last event.Seq, err error) {
	return l.writer.submit(ctx, condition{}, drafts)
}

// Reopen reopens a frozen log: it copies the active file to a new file, syncs that
// and puts it in place of the old one. The old file is never synced again, because
// the kernel reports a lost page only once. Unacknowledged events are kept and
// become visible. If the device fails again, the log stays frozen. On a log that is
// not frozen, Reopen does nothing.
func (l *Log) Reopen(ctx context.Context) error { return l.reopener.reopen(ctx) }

// FlushMetadata syncs the log and then its metadata, and returns once both are on
// the device. The session calls it at the end of a turn.
func (l *Log) FlushMetadata(ctx context.Context) error { return l.upkeep.flushMetadata(ctx) }

// refusal returns why no blob may be stored now; nil if it may.
func (l *Log) refusal() error {
	if l.closed.Load() {
		return journal.ErrClosed
	}
	return nil
}

// full records that there was no space for a value. The flusher finds out when
// there is.
func (l *Log) full(err error) error {
	l.health.block(err)
	l.flusher.poke()
	return journal.ErrBlocked
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

// Present returns nil if the log's directory exists, an ErrAway if it is missing,
// or why that cannot be determined.
func (l *Log) Present() error { return away(l.fs, l.dir) }

// absence returns the Absence of a frozen log.
func (l *Log) absence() journal.Absence {
	err := away(l.fs, l.dir)
	if err == nil && errors.Is(l.health.refusal(), journal.ErrAway) {
		return journal.Returned
	}
	return journal.AbsenceOf(err)
}

// Derived returns the directory of files computed from this log.
func (l *Log) Derived() Derived { return Derived{l.fs, filepath.Join(l.dir, derivedDir)} }
