// Package slots limits the number of running agents: a session needs a slot to run one.
package slots

import (
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
)

// Slot is a session's claim to run an agent.
type Slot struct {
	// Bell rings when the slot is granted, or when it should be given back.
	Bell bell.Slot

	// Guarded by the pool's mu.
	holds   bool
	waits   bool
	yield   bool      // the slot should be given back
	resting time.Time // since when the agent is idle; zero if it is not
}

// New returns a slot that is not granted.
func New() *Slot { return &Slot{Bell: bell.NewSlot()} }

// Pool limits the number of running agents. When all slots are taken, the
// session whose agent has been idle longest is asked to stop it. Waiting sessions
// get slots in the order of their requests.
type Pool struct {
	mu      sync.Mutex
	limit   int
	holders map[*Slot]struct{}
	waiting []*Slot
}

// NewPool returns a pool with limit slots; 0 means no limit.
func NewPool(limit int) *Pool {
	return &Pool{limit: limit, holders: map[*Slot]struct{}{}}
}

// SetLimit changes the limit; 0 means none. It takes no slot away.
func (p *Pool) SetLimit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
	p.grant()
}

// Acquire reports whether s has a slot. If not, s is queued, and its bell rings
// when it gets one.
func (p *Pool) Acquire(s *Slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.holds {
		return true
	}
	if !s.waits {
		s.waits = true
		p.waiting = append(p.waiting, s)
	}
	p.grant()
	return s.holds
}

// Release gives the slot back, or stops waiting for one.
func (p *Pool) Release(s *Slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.waits {
		s.waits = false
		p.waiting = slices.DeleteFunc(p.waiting, func(w *Slot) bool { return w == s })
	}
	if s.holds {
		s.holds, s.yield, s.resting = false, false, time.Time{}
		delete(p.holders, s)
	}
	p.grant()
}

// Rest sets since when the agent of s is idle; the zero time means that it is not.
func (p *Pool) Rest(s *Slot, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.holds || s.resting.Equal(since) {
		return
	}
	s.resting = since
	if since.IsZero() {
		s.yield = false
	}
	p.grant()
}

// ShouldYield reports whether s should stop its agent.
func (p *Pool) ShouldYield(s *Slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.yield
}

// grant hands out free slots, and asks for as many slots as are still needed. The
// caller holds mu.
func (p *Pool) grant() {
	for len(p.waiting) > 0 && (p.limit <= 0 || len(p.holders) < p.limit) {
		s := p.waiting[0]
		p.waiting = p.waiting[1:]
		s.waits, s.holds = false, true
		p.holders[s] = struct{}{}
		s.Bell.Ring()
	}
	asked := 0
	for s := range p.holders {
		if s.yield {
			asked++
		}
	}
	for ; asked < len(p.waiting); asked++ {
		longest := p.longestResting()
		if longest == nil {
			return // the next release asks another one
		}
		longest.yield = true
		longest.Bell.Ring()
	}
}

func (p *Pool) longestResting() *Slot {
	var longest *Slot
	for s := range p.holders {
		if s.yield || s.resting.IsZero() {
			continue
		}
		if longest == nil || s.resting.Before(longest.resting) {
			longest = s
		}
	}
	return longest
}
