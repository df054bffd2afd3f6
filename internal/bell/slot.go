package bell

// Slot wakes one goroutine and carries nothing else. A ring while the goroutine is
// busy is kept; several count as one, so the goroutine must check everything. It is
// made by NewSlot and is safe for concurrent use.
type Slot struct{ rung chan struct{} }

// NewSlot returns a Slot that did not ring.
func NewSlot() Slot { return Slot{make(chan struct{}, 1)} }

// Ring wakes the goroutine, or makes its next wait return at once. It never blocks.
func (s Slot) Ring() {
	select {
	case s.rung <- struct{}{}:
	default:
	}
}

// C is the channel that gives one value for the rings since the last.
func (s Slot) C() <-chan struct{} { return s.rung }
