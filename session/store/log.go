package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
)

// Log is one session's events: what happened, in order, numbered without gaps.
// It is safe for concurrent use. Reading never waits for writing, and one log
// never waits for another. Its readers, its blobs and its metadata have types of their own.
type Log struct {
	reader
	blobs
	metadataFile

	// Set at construction.
	id    string
	dir   string
	fs    FS
	opts  Options
	runID string

	// Owned by whoever holds the pen.
	unremoved bool // files of removed events are still there

	active activeFile

	closed   atomic.Bool
	unmended atomic.Pointer[unmended] // changed by the holder of the pen; nil once it is mended
	touched  atomic.Int64             // microseconds of the newest event's time

	// Each of these locks itself.
	marks     marks
	tail      tail
	bell      bell.Bell
	segs      segments
	health    health
	pen       pen
	sync      syncer
	keeper    keeper
	retention retention
}

// bellGap is how long news may wait in a burst. A screen cannot tell, and a
// follower that is woken 10,000 times a second has enough to do.
const bellGap = 100 * time.Microsecond

// newLog makes a log that knows nothing yet; recovery fills it.
func newLog(id, dir, runID string, opts Options) *Log {
	l := &Log{id: id, dir: dir, fs: opts.FS, opts: opts, runID: runID}
	l.marks.strict = opts.Durability == Strict
	l.tail.limit = opts.TailBytes
	if !opts.machineTime {
		l.pen.clock.now = opts.Now
	}
	l.reader = reader{
		id: id, dir: dir, fs: opts.FS, logger: opts.Logger, closed: &l.closed,
		marks: &l.marks, tail: &l.tail, segs: &l.segs, health: &l.health,
	}
	l.active = activeFile{id: id, dir: dir, fs: opts.FS, logger: opts.Logger}
	l.blobs = blobs{fs: opts.FS, dir: dir, closed: &l.closed, health: &l.health, full: l.full}
	l.metadataFile = metadataFile{
		id: id, dir: dir, fs: opts.FS, closed: &l.closed, marks: &l.marks, health: &l.health, touched: &l.touched,
		readOnly: func() bool { return l.unmended.Load() != nil }, changed: l.keeper.poke,
	}
	l.bell.Pace(bellGap)
	l.keeper.idleAfter, l.keeper.flush, l.keeper.rest, l.keeper.failed = opts.IdleAfter, l.flush, l.rest, l.unflushed
	l.keeper.wake = make(chan struct{}, 1)
	l.keeper.done = make(chan struct{})
	return l
}

// ID is the session's id.
func (l *Log) ID() string { return l.id }

// Changed returns a channel that is closed when more becomes visible, or the
// log closes. Take it before reading, or news in between is missed.
func (l *Log) Changed() <-chan struct{} { return l.bell.Listen() }

// Marks returns the watermarks, all of one moment.
func (l *Log) Marks() Marks { return l.marks.snapshot() }

// Health says whether the log can be written and what of it is damaged.
func (l *Log) Health() Health {
	h := l.health.get()
	if h.State == HealthFrozen {
		h.Absence = l.absence()
	}
	return h
}

// HealthChanged returns a channel that is closed when Health may answer
// otherwise. Take it before asking.
func (l *Log) HealthChanged() <-chan struct{} { return l.health.bell.Listen() }

// close brings everything to the device, says so in the metadata, and lets the
// files go. Readers and waiting appends get ErrClosed.
func (l *Log) close() error {
	if l.closed.Swap(true) {
		return nil
	}
	var errs []error
	errs = append(errs, l.withPen(func() error { l.pen.closed = true; return nil }))
	l.keeper.stop()
	if u := l.unmended.Load(); u != nil { // nobody else has the pen any more
		errs = append(errs, l.saveMetadata(), u.file.Close())
	} else {
		errs = append(errs, l.withPen(l.keepLast))
	}
	if l.health.frozen.Load() {
		// The next run must know not to trust the page cache.
		errs = append(errs, fmt.Errorf("close session %s: %w", l.id, l.health.refusal()), l.saveMetadata())
	} else if l.unmended.Load() == nil {
		errs = append(errs, l.settle())
		if l.health.frozen.Load() {
			errs = append(errs, l.saveMetadata()) // it was the last sync that failed
		}
	}
	errs = append(errs, l.segs.close())
	l.tail.drop()
	l.bell.Wait()
	l.bell.RingNow()
	l.health.bell.Ring()
	return errors.Join(errs...)
}

// full notes that there was no room for a value. The keeper finds out when there is.
func (l *Log) full(err error) {
	l.health.block(err)
	l.keeper.poke()
}

// settle is the last flush of a log.
func (l *Log) settle() error {
	written, _ := l.marks.positions()
	if err := l.syncTo(context.Background(), written.seq); err != nil {
		return fmt.Errorf("close session %s: %w", l.id, err)
	}
	l.setWriter(nil)
	return l.saveMetadata()
}

// compile-time reminder of who reads logs: an observer's Source.
var _ interface {
	ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error)
	Changed() <-chan struct{}
} = (*Log)(nil)
