package session

import (
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
)

// seat is a session's claim to run an agent.
type seat struct {
	// bell rings when the seat is granted, or when it should be given back.
	bell bell.Slot

	// Guarded by the pool's mu.
	holds   bool
	waits   bool
	yield   bool      // the seat should be given back
	resting time.Time // since when the agent is idle; zero if it is not
}

func newSeat() *seat { return &seat{bell: bell.NewSlot()} }

// agentPool limits the number of running agents. When all seats are taken, the
// session whose agent has been idle longest is asked to stop it. Waiting sessions
// get seats in the order of their requests.
type agentPool struct {
	mu      sync.Mutex
	limit   int
	holders map[*seat]struct{}
	waiting []*seat
}

func newAgentPool(limit int) *agentPool {
	return &agentPool{limit: limit, holders: map[*seat]struct{}{}}
}

// setLimit changes the limit; 0 means none. It takes no seat away.
func (p *agentPool) setLimit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
	p.grant()
}

// acquire reports whether s has a seat. If not, s is queued, and its bell rings
// when it gets one.
func (p *agentPool) acquire(s *seat) bool {
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

// release gives the seat back, or stops waiting for one.
func (p *agentPool) release(s *seat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.waits {
		s.waits = false
		p.waiting = slices.DeleteFunc(p.waiting, func(w *seat) bool { return w == s })
	}
	if s.holds {
		s.holds, s.yield, s.resting = false, false, time.Time{}
		delete(p.holders, s)
	}
	p.grant()
}

// rest sets since when the agent of s is idle; the zero time means that it is not.
func (p *agentPool) rest(s *seat, since time.Time) {
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

// shouldYield reports whether s should stop its agent.
func (p *agentPool) shouldYield(s *seat) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.yield
}

// grant hands out free seats, and asks for as many seats as are still needed. The
// caller holds mu.
func (p *agentPool) grant() {
	for len(p.waiting) > 0 && (p.limit <= 0 || len(p.holders) < p.limit) {
		s := p.waiting[0]
		p.waiting = p.waiting[1:]
		s.waits, s.holds = false, true
		p.holders[s] = struct{}{}
		s.bell.Ring()
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
		longest.bell.Ring()
	}
}

func (p *agentPool) longestResting() *seat {
	var longest *seat
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
