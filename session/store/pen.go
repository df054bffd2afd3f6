package store

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// mostPerWrite is how many bytes of waiting appends one write takes along.
const mostPerWrite = 1 << 20

// pen writes one log. One goroutine at a time holds it; appends that come
// meanwhile wait and go out together in the next write. Where nobody waits,
// taking it and laying it down are one atomic step each.
type pen struct {
	state atomic.Int32

	mu      sync.Mutex // held by who comes to wait, and by the holder to look who waits
	waiting []*request

	// Owned by whoever holds the pen.
	closed bool
	marked bool       // the metadata on disk names this run as the writer
	along  []*request // whose drafts go out with the holder's
	place
	batch
}

// place is where a log is written.
type place struct {
	seg     *segment
	file    File      // the active segment's, locked
	next    event.Seq // the seq of the next event
	offset  int64     // end of the last whole line
	ragged  bool      // bytes of a failed write may lie behind offset
	opened  position  // end of what the file held when this process began to write it
	indexed int64     // offset of the last line in the index
}

// batch is the lines of one write.
type batch struct {
	clock   logfile.Clock
	enc     logfile.Encoder
	at      logfile.Stamp // of the last line
	buf     []byte
	lines   []written
	durable []event.Seq
}

// The states of a pen. It is awaited as long as somebody waits: such a pen is
// never free in between, so who comes later does not get it first.
const (
	penFree int32 = iota
	penHeld
	penAwaited
)

// written is one line of a write.
type written struct {
	seq   event.Seq
	start int // of the body in the buffer
	body  int // end of the body
	sum   uint32
}

// request is a call that waits for the pen.
type request struct {
	drafts      []event.Draft
	alone       bool // wants the pen itself, not a write
	first, last event.Seq
	err         error
	// turn gives the pen to the request (true), or tells it that another one has
	// written it (false).
	turn chan bool
}

// take gives the pen to the caller if nobody has it.
func (p *pen) take() bool { return p.state.CompareAndSwap(penFree, penHeld) }

// await returns true once the caller holds the pen, with what else waits taken
// along, or false once another has written r.
func (p *pen) await(r *request) bool {
	r.turn = make(chan bool, 1)
	p.mu.Lock()
	if p.state.Swap(penAwaited) == penFree {
		p.state.Store(penHeld) // it was laid down just now, and nobody waits
		p.mu.Unlock()
		return true
	}
	p.waiting = append(p.waiting, r)
	p.mu.Unlock()
	if !<-r.turn {
		return false
	}
	if !r.alone {
		p.takeAlong(r.size())
	}
	return true
}

// takeAlong has those who wait go out with the caller, who holds the pen and has
// size bytes to write.
func (p *pen) takeAlong(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.waiting) && size < mostPerWrite && !p.waiting[n].alone {
		size += p.waiting[n].size()
		n++
	}
	p.along = append(p.along, p.waiting[:n]...)
	p.dequeue(n)
}

// dequeue removes the first n of those who wait. The caller holds the pen and mu.
func (p *pen) dequeue(n int) {
	rest := copy(p.waiting, p.waiting[n:])
	clear(p.waiting[rest:])
	p.waiting = p.waiting[:rest]
	if rest == 0 {
		p.state.Store(penHeld)
	}
}

// pass lays the pen down, or hands it on to who has waited longest. Those whose
// lines went out with the caller's are woken first.
func (p *pen) pass() {
	if len(p.along) == 0 && p.state.CompareAndSwap(penHeld, penFree) {
		return
	}
	p.handOn()
}

func (p *pen) handOn() {
	for i, r := range p.along {
		r.turn <- false
		p.along[i] = nil
	}
	p.along = p.along[:0]
	if p.state.CompareAndSwap(penHeld, penFree) {
		return
	}
	p.mu.Lock()
	heir := p.waiting[0]
	p.dequeue(1)
	p.mu.Unlock()
	heir.turn <- true
}

// durable reports whether an event of the request waits for the device.
func (r *request) durable() bool {
	return slices.ContainsFunc(r.drafts, func(d event.Draft) bool { return d.Type.Durable() })
}

func (r *request) size() int {
	n := 0
	for i := range r.drafts {
		n += len(r.drafts[i].Data)
	}
	return n
}

// stamp is the time of a draft's line.
func (b *batch) stamp(d *event.Draft) (logfile.Stamp, error) {
	if d.Time.IsZero() {
		return b.clock.Read()
	}
	return logfile.StampOf(d.Time)
}
