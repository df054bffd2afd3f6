package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// flushEvery is the least time between two rounds of the keeper, and with
	// the sync's own duration what a power cut may cost a stream: within 100 ms.
	flushEvery = 80 * time.Millisecond
	// retryFirst and retryLast bound how often a full device is tried.
	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
)

// keeper is what one log does in the background: it brings what was streamed to
// the device, writes the metadata behind it, finds out when a full device has
// room again, and lets an idle log's caches go. Each log has its own, so one
// log's slow device is nobody else's.
type keeper struct {
	dirty  atomic.Bool   // there is something to do
	wake   chan struct{} // one slot
	cancel context.CancelFunc
	done   chan struct{} // closed when the keeper has ended

	keep   atomic.Int64 // most bytes of the log; zero is all of it
	excess atomic.Bool  // there may be more than that
}

// setKeep says how much of the log is kept, which takes effect soon.
func (l *Log) setKeep(bytes int64) {
	l.keeper.keep.Store(bytes)
	if bytes > 0 {
		l.keeper.excess.Store(true)
		l.keeper.poke()
	}
}

// poke wakes the keeper. It costs one atomic load while the keeper is awake.
func (k *keeper) poke() {
	if k.dirty.Load() || k.dirty.Swap(true) {
		return
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// start runs the keeper until stop.
func (l *Log) startKeeper() {
	ctx, cancel := context.WithCancel(context.Background())
	l.keeper.cancel = cancel
	go func() {
		defer close(l.keeper.done)
		l.keep(ctx)
	}()
}

// stopKeeper ends the keeper and waits for it.
func (l *Log) stopKeeper() {
	l.keeper.cancel()
	<-l.keeper.done
}

// keep is the keeper's loop.
func (l *Log) keep(ctx context.Context) {
	var (
		last  time.Time
		retry time.Duration
		timer = time.NewTimer(l.opts.IdleAfter)
	)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if retry == 0 && !l.keeper.dirty.Load() {
				l.rest()
				continue
			}
		case <-l.keeper.wake:
		}
		if !pause(ctx, flushEvery-time.Since(last)) {
			return
		}
		l.keeper.dirty.Store(false)
		err := l.flush(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			// Somebody removed the directory: what is written goes nowhere, and trying
			// again brings it back as little.
			if !l.health.frozen.Load() {
				l.freeze(gone(err))
			}
			err = l.health.refusal()
		}
		last = time.Now()
		switch {
		case err == nil:
			retry = 0
			timer.Reset(l.opts.IdleAfter)
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrFrozen):
			retry = 0 // only reopening helps; the next run must know
			if err := l.saveMetadata(); err != nil {
				l.opts.Logger.Warn("metadata of a frozen log cannot be written", "session", l.id, "err", err)
			}
		default:
			retry = min(max(2*retry, retryFirst), retryLast)
			timer.Reset(retry)
			l.opts.Logger.Warn("log cannot be flushed; trying again", "session", l.id, "err", err, "after", retry)
		}
	}
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// flush syncs what is written and writes the metadata that follows from it.
func (l *Log) flush(ctx context.Context) error {
	written, _ := l.marks.positions()
	if err := l.syncTo(ctx, written.seq); err != nil {
		return err
	}
	if err := l.saveMetadata(); err != nil {
		return err
	}
	return errors.Join(l.trim(ctx), l.tryRoom())
}

// trim removes what the log has too much of, if a file was completed or the limit
// changed since it was last looked at.
func (l *Log) trim(ctx context.Context) error {
	keep := l.keeper.keep.Load()
	if keep <= 0 || !l.keeper.excess.Swap(false) {
		return nil
	}
	before := event.Seq(l.marks.min.Load())
	first, err := l.Retain(ctx, keep)
	if err != nil {
		l.keeper.excess.Store(true)
		return err
	}
	if first > before {
		l.opts.Logger.Info("old events removed", "session", l.id, "from", before, "to", first-1)
	}
	return nil
}

// FlushMetadata brings the log and then its metadata to the device, and returns
// once both are there. The session calls it at the end of a turn.
func (l *Log) FlushMetadata(ctx context.Context) error {
	if l.closed.Load() {
		return ErrClosed
	}
	written, _ := l.marks.positions()
	if err := l.syncTo(ctx, written.seq); err != nil {
		return err
	}
	return roomFor(l.saveMetadata())
}

// roomFor adds to an error that there is no room that the call may be repeated.
func roomFor(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: %w", ErrBlocked, err)
	}
	return err
}

// probeBytes is how much room a blocked log wants to see before it goes on, if
// what waits is not larger.
const probeBytes = 64 << 10

// tryRoom finds out whether a blocked log may go on, so that it heals even if
// nobody appends.
func (l *Log) tryRoom() error {
	if !l.health.blocked.Load() {
		return nil
	}
	if unmended, err := l.tryMend(); unmended {
		return err
	}
	path := filepath.Join(l.dir, "room"+tempSuffix)
	f, err := l.fs.Create(path)
	if err != nil {
		return err
	}
	room := max(probeBytes, l.health.wants.Load())
	zeros := make([]byte, probeBytes)
	for at := int64(0); at < room && err == nil; at += probeBytes {
		err = writeAt(f, zeros[:min(probeBytes, room-at)], at)
	}
	if err == nil {
		err = f.Datasync() // some file systems allocate only now
	}
	if err := errors.Join(err, f.Close(), l.fs.Remove(path)); err != nil {
		return err
	}
	l.health.fits(room)
	return nil
}

// rest lets go of what an idle log can do without, and says on disk that
// nothing of it is unsynced, so that a power cut leaves its epoch alone.
func (l *Log) rest() {
	if err := l.withPen(func() error {
		p := &l.pen
		if p.closed || p.file == nil || l.health.frozen.Load() {
			return nil
		}
		if written, synced := l.marks.positions(); written.seq != synced.seq {
			return nil
		}
		l.tail.drop()
		p.buf = nil
		if !p.marked {
			return nil
		}
		l.setWriter(nil)
		p.marked = false
		return l.saveMetadata()
	}); err != nil {
		l.opts.Logger.Warn("idle log cannot be put to rest", "session", l.id, "err", err)
	}
	for _, seg := range l.segs.all() {
		seg.rest()
	}
}
