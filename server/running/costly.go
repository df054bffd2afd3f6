package running

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session/state"
)

const (
	// costlyAtOnce limits the running requests of each class, costlyOwners is how many of
	// them are for owners of all sessions, and costlyOfOne how many a credential has.
	costlyAtOnce = 4
	costlyOwners = 1
	costlyOfOne  = 2
	// costlyWait is how long a request waits for its turn.
	costlyWait = 10 * time.Second
)

// Costly limits the running requests of one class that take much memory, a process or a
// file for long. The zero value is ready, and safe for concurrent use.
type Costly struct {
	mu          sync.Mutex
	all, others int            // others: not of owners of all sessions
	of          map[string]int // by credential
	freed       chan struct{}  // closed when one ends
}

// Take waits for a place, which leave gives back. The error is ErrBusy or that of ctx.
func (s *Costly) Take(ctx context.Context, g auth.Grant) (leave func(), err error) {
	owner := g.May(auth.Manage, "")
	wait := time.NewTimer(costlyWait)
	defer wait.Stop()
	for {
		s.mu.Lock()
		if s.all < costlyAtOnce && s.of[g.ID] < costlyOfOne && (owner || s.others < costlyAtOnce-costlyOwners) {
			s.count(g.ID, owner, 1)
			s.mu.Unlock()
			return func() { s.leave(g.ID, owner) }, nil
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-wait.C:
			return nil, fmt.Errorf("%w: too many exports, searches or previews are under way", state.ErrBusy)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// count changes the numbers. The lock is held.
func (s *Costly) count(id string, owner bool, n int) {
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all += n
	if !owner {
		s.others += n
	}
	if s.of[id] += n; s.of[id] == 0 {
		delete(s.of, id)
	}
}

func (s *Costly) leave(id string, owner bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(id, owner, -1)
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
