package session

import "sync"

// bell tells any number of waiters that something changed, and carries nothing
// else. The zero bell is ready. A waiter takes the channel and then looks;
// whoever changes something changes it and then rings.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // guarded by mu; nil while nobody listens
}

// listen returns the channel the next ring closes.
func (b *bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// ring wakes everybody who listens.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
