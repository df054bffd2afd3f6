package session

import (
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
)

// seat is a session's place among the live agents.
type seat struct {
	// bell rings when the seat was given, or when it should be given back.
	bell bell.Slot

	// guarded by the pool's mu
	holds   bool
	waits   bool
	yield   bool      // asked to give the seat back
	resting time.Time // since when the agent could be put to sleep; zero while it cannot
}

func newSeat() *seat { return &seat{bell: bell.NewSlot()} }

// agentPool bounds how many agents live at once. When all seats are taken, the
// session with the longest idle agent is asked to stop it. Sessions that wait get a
// seat in the order they asked.
type agentPool struct {
	mu      sync.Mutex
	limit   int
	holders map[*seat]struct{}
	waiting []*seat
}

func newAgentPool(limit int) *agentPool {
	return &agentPool{limit: limit, holders: map[*seat]struct{}{}}
}

// setLimit changes the bound; 0 means none. Seats beyond it are not taken away.
func (p *agentPool) setLimit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
	p.grant()
}

// acquire reports whether s has a seat; if not, it waits for one, and its bell
// rings when it gets it.
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

// rest says since when the agent of s could be put to sleep; the zero time says
// that it cannot.
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

// shouldYield reports whether s was asked to put its agent to sleep.
func (p *agentPool) shouldYield(s *seat) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.yield
}

// grant hands out free seats, and asks for as many as still are waited for. The
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
			return // the next idle agent is asked then
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
