package machines

import (
	"context"
	"sync"
)

// fetches has one fetch of a blob at a time.
type fetches struct {
	mu      sync.Mutex
	running map[string]chan struct{}
}

// enter waits for the fetch before, if any.
func (f *fetches) enter(ctx context.Context, key string) (done func(), err error) {
	for {
		f.mu.Lock()
		before, mine := f.running[key], make(chan struct{})
		if before == nil {
			if f.running == nil {
				f.running = map[string]chan struct{}{}
			}
			f.running[key] = mine
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.running, key)
				f.mu.Unlock()
				close(mine)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
