package machines

import (
	"cmp"
	"slices"
	"time"
)

// upkeepEvery is how often the copies are looked at.
const upkeepEvery = 10 * time.Second

// mostIdle is how many copies stay open that nobody looks at. They read on when a line changes.
const mostIdle = 64

// begin begins upkeep. It is called with mu held.
func (s *copies) begin() {
	if !s.begun && !s.closed {
		s.begun = true
		s.running.Go(s.upkeep)
	}
}

// upkeep removes what is not kept, and closes what was not needed for the longest time.
func (s *copies) upkeep() {
	s.dropUnknown()
	for s.ctx.Err() == nil {
		again := s.keeping.again.Listen()
		keep := s.keeping.now()
		s.retireIdle()
		for machine, ids := range s.keeping.room.due() {
			s.visits.add(machine, ids)
		}
		if s.keeping.due(keep) {
			s.evict(keep)
		}
		select {
		case <-again:
		case <-time.After(min(upkeepEvery, s.followFor)):
		case <-s.ctx.Done():
		}
	}
}

// retireIdle closes the copies beyond mostIdle that nobody looks at.
func (s *copies) retireIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var idle []*Copied
	for _, c := range s.open {
		if !c.retired && !c.attention.wanted() {
			idle = append(idle, c)
		}
	}
	slices.SortFunc(idle, func(a, b *Copied) int { return cmp.Compare(a.news.Load(), b.news.Load()) })
	for _, c := range idle[:max(0, len(idle)-mostIdle)] {
		c.retired = true
		c.stop()
	}
}

// evict measures the copies and removes those that are not kept.
func (s *copies) evict(keep Keep) {
	all, bytes := storedCopies(s.dir)
	for _, one := range all {
		if s.ctx.Err() != nil {
			return
		}
		if keep.Copies != KeepNone && (keep.Bytes == 0 || bytes <= keep.Bytes) {
			break
		}
		s.mu.Lock()
		c := s.open[one.id]
		wanted := c != nil && c.machine == one.machine && c.attention.wanted()
		s.mu.Unlock()
		if !wanted && s.forget(one.machine, one.id) {
			bytes -= one.bytes
		}
	}
	s.keeping.bytes.Store(bytes)
}

// visit reads a session on that nobody looks at, up to its end.
func (s *copies) visit(machine, id string) {
	var c *Copied
	for ends := s.ctx.Done(); ends != nil; {
		var err error
		if c, ends, err = s.copied(id, false); err != nil {
			s.keeping.note(err)
			s.keeping.room.owe(machine, id)
			return
		}
		if ends != nil {
			<-ends
		}
	}
	l := s.from.reader(machine)
	if l == nil {
		return
	}
	select {
	case <-c.read:
	case <-c.done:
	case <-l.ended():
	case <-s.ctx.Done():
	}
	s.retireIdle()
}
