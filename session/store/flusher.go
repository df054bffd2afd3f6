package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/journal"
)

const (
	// flushEvery is the minimum time between two rounds of the flusher. With the
	// duration of a sync it limits what a power cut can cost a stream: 100 ms.
	flushEvery = 80 * time.Millisecond
	// retryFirst and retryLast limit the pauses between attempts on a full device.
	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
)

// flusher does one log's background work: it flushes soon after a poke, retries
// after a failure, and sleeps while the log is idle. Each log has its own, so a
// slow device of one log delays no other.
type flusher struct {
	// Set at construction.
	idleAfter time.Duration
	flush     func(context.Context) error
	rest      func()
	failed    func(err error, again time.Duration) // again is zero if there is no retry

	dirty  atomic.Bool // there is work
	wake   bell.Slot
	cancel context.CancelFunc
	done   chan struct{} // closed when the flusher has ended
}

// poke wakes the flusher. It costs one atomic load while the flusher is awake.
func (k *flusher) poke() {
	if k.dirty.Load() || k.dirty.Swap(true) {
		return
	}
	k.wake.Ring()
}

// start runs the flusher until stop.
func (k *flusher) start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go func() {
		defer close(k.done)
		k.run(ctx)
	}()
}

// stop ends the flusher and waits for it.
func (k *flusher) stop() {
	k.cancel()
	<-k.done
}

func (k *flusher) run(ctx context.Context) {
	var (
		last  time.Time
		retry time.Duration
		timer = time.NewTimer(k.idleAfter)
	)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if retry == 0 && !k.dirty.Load() {
				k.rest()
				continue
			}
		case <-k.wake.C():
		}
		if !pause(ctx, flushEvery-time.Since(last)) {
			return
		}
		k.dirty.Store(false)
		err := k.flush(ctx)
		last = time.Now()
		switch {
		case err == nil:
			retry = 0
			timer.Reset(k.idleAfter)
		case ctx.Err() != nil:
			return
		case errors.Is(err, journal.ErrFrozen):
			retry = 0 // only reopening helps
			k.failed(err, 0)
		default:
			retry = min(max(2*retry, retryFirst), retryLast)
			timer.Reset(retry)
			k.failed(err, retry)
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
