package bell

// Slot wakes one goroutine and carries nothing else. A ring while the goroutine is
// busy is kept, and several are kept as one: the goroutine looks at all there is. It
// is made by NewSlot and is safe for concurrent use.
type Slot struct{ rung chan struct{} }

// NewSlot returns a Slot that did not ring.
func NewSlot() Slot { return Slot{make(chan struct{}, 1)} }

// Ring wakes the goroutine, or has it go round once more. It never waits.
func (s Slot) Ring() {
	select {
	case s.rung <- struct{}{}:
	default:
	}
}

// C is the channel that gives one value for the rings since the last.
func (s Slot) C() <-chan struct{} { return s.rung }
