package machines

import (
	"errors"

	"github.com/abidehub/abide/session/journal"
)

// Watch returns home's copy of a machine's session, and makes it follow the session. ErrUnknown
// if no machine has it.
func (h *Home) Watch(id string) (*Copied, error) {
	for {
		c, ends, err := h.copies.copied(id, true)
		if errors.Is(err, journal.ErrBlocked) {
			h.copies.keeping.note(err)
			return nil, errHomeFull
		}
		if ends == nil {
			return c, err
		}
		<-ends
	}
}

// Configure says what copies are kept from now on.
func (h *Home) Configure(k Keep) {
	s, joined := h.copies, h.Machines()
	changed := s.keeping.set(k)
	if len(joined) > 0 || s.stored() {
		s.mu.Lock()
		s.begin()
		s.mu.Unlock()
	}
	s.keeping.again.Ring()
	if changed && k.Copies == KeepAll {
		for _, m := range joined {
			s.rung(m.ID, h.rows.ofMachine(m.ID), nil)
		}
	}
}

// Stored returns the stored lines of the copies.
func (h *Home) Stored() Stored { return Stored{h.copies.dir} }
