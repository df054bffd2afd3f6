package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// bell tells any number of waiters that something changed, and carries nothing
// else. The zero bell is ready.
//
// A waiter takes the channel and then looks; whoever changes something changes
// it and then rings. Either the look sees the change or the channel closes.
//
// Waking a goroutine can cost more than writing a line. So a bell with a gap
// rings at once after a pause, and in a burst once per gap: the waiters then find
// more at each look, and whoever appends hardly pays for them.
type bell struct {
	gap time.Duration // set at construction: least time between two rings

	ch      atomic.Pointer[chan struct{}]
	last    atomic.Int64 // when it last rang, since started
	started time.Time    // set at construction, if gap is
	delayed atomic.Bool  // a ring is on its way
	timers  sync.WaitGroup
}

// listen returns the channel the next ring will close.
func (b *bell) listen() <-chan struct{} {
	for {
		if p := b.ch.Load(); p != nil {
			return *p
		}
		fresh := make(chan struct{})
		if b.ch.CompareAndSwap(nil, &fresh) {
			return fresh
		}
	}
}

// ring wakes everybody who listens, within the gap. It costs one atomic load
// while nobody does.
func (b *bell) ring() {
	if b.ch.Load() == nil {
		return
	}
	if b.gap == 0 {
		b.ringNow()
		return
	}
	if b.delayed.Load() {
		return // the ring on its way comes after this change
	}
	since := int64(time.Since(b.started)) - b.last.Load()
	if since >= int64(b.gap) {
		b.ringNow()
		return
	}
	if b.delayed.Swap(true) {
		return
	}
	b.timers.Add(1)
	time.AfterFunc(b.gap-time.Duration(since), func() {
		defer b.timers.Done()
		// First cleared, then rung: a change that is too late for this ring
		// sees that it has to ring itself.
		b.delayed.Store(false)
		b.ringNow()
	})
}

func (b *bell) ringNow() {
	if b.gap > 0 {
		b.last.Store(int64(time.Since(b.started)))
	}
	if p := b.ch.Swap(nil); p != nil {
		close(*p)
	}
}

// wait returns when no ring is on its way.
func (b *bell) wait() { b.timers.Wait() }
