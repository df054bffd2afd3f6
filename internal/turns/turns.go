// Package turns lets one caller at a time work on what has a name.
package turns

import (
	"context"
	"sync"
)

// Turns are the turns of names. The zero value is ready. It is safe for concurrent use, and
// holds nothing of a name that has no caller.
type Turns struct {
	mu   sync.Mutex
	open map[string]*turn
}

// turn is held by the caller who works; the others wait for it.
type turn struct {
	held    chan struct{}
	waiting int // with the one who holds it
}

// Take waits for a name's turn, in no order. It ends with done, or with ctx's error.
func (s *Turns) Take(ctx context.Context, name string) (done func(), err error) {
	s.mu.Lock()
	t := s.open[name]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		if s.open == nil {
			s.open = map[string]*turn{}
		}
		s.open[name] = t
	}
	t.waiting++
	s.mu.Unlock()
	select {
	case t.held <- struct{}{}:
		return func() { <-t.held; s.leave(name, t) }, nil
	case <-ctx.Done():
		s.leave(name, t)
		return nil, ctx.Err()
	}
}

func (s *Turns) leave(name string, t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.waiting--; t.waiting == 0 {
		delete(s.open, name)
	}
}
