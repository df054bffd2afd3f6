// Package bell tells any number of goroutines that something changed.
package bell

import (
	"sync"
	"sync/atomic"
	"time"
)

// Bell wakes its listeners and carries nothing else. The zero Bell is ready and
// rings at once. It is safe for concurrent use.
//
// A listener takes the channel and then looks. A writer makes its change and
// then rings. Either the look sees the change or the channel closes.
type Bell struct {
	gap     time.Duration // set by Pace
	started time.Time     // set by Pace

	ch      atomic.Pointer[chan struct{}]
	last    atomic.Int64 // when it last rang, since started
	delayed atomic.Bool  // a timer will ring
	timers  sync.WaitGroup
}

// Pace makes the bell ring at most once per gap. After a pause it still rings at
// once. Waking a goroutine can cost more than writing a line: in a burst, a
// writer then pays for one wake-up per gap. Call it before the bell is used.
func (b *Bell) Pace(gap time.Duration) { b.gap, b.started = gap, time.Now() }

// Listen returns the channel that the next ring closes.
func (b *Bell) Listen() <-chan struct{} {
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

// Ring wakes all listeners, within the gap. Without listeners it costs one
// atomic load.
func (b *Bell) Ring() {
	if b.ch.Load() == nil {
		return
	}
	if b.gap == 0 {
		b.RingNow()
		return
	}
	if b.delayed.Load() {
		return // the delayed ring comes after this change
	}
	since := int64(time.Since(b.started)) - b.last.Load()
	if since >= int64(b.gap) {
		b.RingNow()
		return
	}
	if b.delayed.Swap(true) {
		return
	}
	b.timers.Add(1)
	time.AfterFunc(b.gap-time.Duration(since), func() {
		defer b.timers.Done()
		// Clear first, then ring: a change too late for this ring then sees that
		// it has to ring itself.
		b.delayed.Store(false)
		b.RingNow()
	})
}

// RingNow wakes all listeners at once, without regard to the gap.
func (b *Bell) RingNow() {
	if b.gap > 0 {
		b.last.Store(int64(time.Since(b.started)))
	}
	if p := b.ch.Swap(nil); p != nil {
		close(*p)
	}
}

// Wait returns when no delayed ring is pending.
func (b *Bell) Wait() { b.timers.Wait() }
