package store

import (
	"context"
	"errors"
	"sync"
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
// after a failure, and rests once when the log has been idle. Each log has its own,
// so a slow device of one log delays no other. Its goroutine ends when nothing is
// left to do, so an idle log has none.
type flusher struct {
	// Set at construction.
	idleAfter time.Duration
	flush     func(context.Context) error
	rest      func()
	failed    func(err error, again time.Duration) // again is zero if there is no retry

	dirty atomic.Bool // there is work

	mu      sync.Mutex
	started bool        // and not stopped
	idle    *time.Timer // to the rest
	cancel  context.CancelFunc
	wake    bell.Slot
	running bool
	done    sync.WaitGroup

	last time.Time // of a flush; belongs to the goroutine
}

// poke wakes the flusher. It costs one atomic load while there is work.
func (k *flusher) poke() {
	if k.dirty.Load() || k.dirty.Swap(true) {
		return
	}
	k.begin(false)
}

// start lets the flusher work until stop.
func (k *flusher) start() {
	k.mu.Lock()
	k.started = true
	k.idle = time.AfterFunc(k.idleAfter, func() { k.begin(true) })
	k.mu.Unlock()
	if k.dirty.Load() {
		k.begin(false)
	}
}

// stop ends the flusher and waits for it.
func (k *flusher) stop() {
	k.mu.Lock()
	k.started = false
	if k.running {
		k.cancel()
	}
	k.mu.Unlock()
	k.done.Wait()
	k.idle.Stop()
}

// begin starts the goroutine, or wakes it.
func (k *flusher) begin(idle bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.started:
	case k.running:
		k.wake.Ring()
	default:
		k.running, k.wake = true, bell.NewSlot()
		ctx, cancel := context.WithCancel(context.Background())
		k.cancel = cancel
		k.done.Go(func() {
			defer cancel()
			k.run(ctx, idle)
		})
	}
}

// run works until nothing is left to do.
func (k *flusher) run(ctx context.Context, idle bool) {
	if idle && !k.dirty.Load() {
		k.rest()
	}
	for retry := time.Duration(0); retry > 0 || !k.ended(); {
		if retry > 0 && !k.pauseOrWake(ctx, retry) || !pause(ctx, flushEvery-time.Since(k.last)) {
			return
		}
		k.dirty.Store(false)
		err := k.flush(ctx)
		k.last = time.Now()
		switch {
		case err == nil:
			retry = 0
			k.idle.Reset(k.idleAfter)
		case ctx.Err() != nil:
			return
		case errors.Is(err, journal.ErrFrozen):
			retry = 0 // only reopening helps
			k.idle.Reset(k.idleAfter)
			k.failed(err, 0)
		default:
			retry = min(max(2*retry, retryFirst), retryLast)
			k.failed(err, retry)
		}
	}
}

// ended reports that there is no work. The next poke then starts the goroutine
// again.
func (k *flusher) ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = k.started && k.dirty.Load()
	return !k.running
}

// pauseOrWake waits, at most until a poke, and reports false if ctx ended first.
func (k *flusher) pauseOrWake(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-k.wake.C():
	}
	return true
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
