package store

import "sync/atomic"

// bell tells any number of waiters that something changed, and carries nothing
// else. The zero bell is ready.
//
// A waiter takes the channel and then looks; whoever changes something changes
// it and then rings. Either the look sees the change or the channel closes.
type bell struct {
	ch atomic.Pointer[chan struct{}]
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

// ring wakes everybody who listens. It costs one atomic load while nobody does.
func (b *bell) ring() {
	if b.ch.Load() == nil {
		return
	}
	if p := b.ch.Swap(nil); p != nil {
		close(*p)
	}
}
