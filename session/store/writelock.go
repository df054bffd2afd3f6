package store

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// mostPerWrite is how many bytes of waiting appends one write takes along.
const mostPerWrite = 1 << 20

// writeLock lets one goroutine at a time write a log. Appends that come meanwhile
// wait and go out together in the holder's next write. Without waiters, locking and
// unlocking are one atomic step each.
type writeLock struct {
	state atomic.Int32

	mu      sync.Mutex // held by a goroutine that begins to wait, and by the holder while it looks for waiters
	waiting []*request
	along   []*request // whose drafts go out with the holder's; owned by the holder
}

// The states of a write lock. It is contended as long as a goroutine waits: it is
// not unlocked in between, so a later caller cannot overtake.
const (
	unlocked int32 = iota
	locked
	contended
)

// output is the file a log is written to, and the bytes that go out next. The
// holder of the write lock owns it.
type output struct {
	closed bool
	marked bool // the metadata on disk names this run as the writer
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
	opened  position  // end of the file when this process began to write it
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

// written is one line of a write.
type written struct {
	seq   event.Seq
	start int // of the body in the buffer
	body  int // end of the body
	sum   uint32
}

// condition is what an append asks for. The zero condition is always met.
type condition struct {
	next  event.Seq // the next seq of the log
	fence int64     // of the latest lease
}

// request is a call that waits for the write lock.
type request struct {
	condition
	drafts      []event.Draft
	alone       bool // wants the lock itself, not a write
	first, last event.Seq
	err         error
	// turn gives the lock to the request (true), or tells it that another one has
	// written it (false).
	turn chan bool
}

// tryLock gives the lock to the caller if it is free.
func (l *writeLock) tryLock() bool { return l.state.CompareAndSwap(unlocked, locked) }

// acquire returns true once the caller holds the lock, with the other waiting requests
// taken along, or false once another holder has written r.
func (l *writeLock) acquire(r *request) bool {
	r.turn = make(chan bool, 1)
	l.mu.Lock()
	if l.state.Swap(contended) == unlocked {
		l.state.Store(locked) // it was unlocked just now, and no goroutine waits
		l.mu.Unlock()
		return true
	}
	l.waiting = append(l.waiting, r)
	l.mu.Unlock()
	if !<-r.turn {
		return false
	}
	if !r.alone {
		l.takeAlong(r.size())
	}
	return true
}

// takeAlong has the waiting requests go out with the caller's, which has size bytes
// to write. The caller holds the lock.
func (l *writeLock) takeAlong(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.waiting) && size < mostPerWrite && !l.waiting[n].alone {
		size += l.waiting[n].size()
		n++
	}
	l.along = append(l.along, l.waiting[:n]...)
	l.dequeue(n)
}

// dequeue removes the first n waiting requests. The caller holds the lock and mu.
func (l *writeLock) dequeue(n int) {
	rest := copy(l.waiting, l.waiting[n:])
	clear(l.waiting[rest:])
	l.waiting = l.waiting[:rest]
	if rest == 0 {
		l.state.Store(locked)
	}
}

// unlock frees the lock, or hands it to the request that has waited longest. Requests
// whose lines went out with the caller's are woken first.
func (l *writeLock) unlock() {
	if len(l.along) == 0 && l.state.CompareAndSwap(locked, unlocked) {
		return
	}
	l.handOn()
}

func (l *writeLock) handOn() {
	for i, r := range l.along {
		r.turn <- false
		l.along[i] = nil
	}
	l.along = l.along[:0]
	if l.state.CompareAndSwap(locked, unlocked) {
		return
	}
	l.mu.Lock()
	next := l.waiting[0]
	l.dequeue(1)
	l.mu.Unlock()
	next.turn <- true
}

// fail refuses the requests that were taken along and are not refused yet.
func (l *writeLock) fail(err error) {
	for _, r := range l.along {
		r.err = cmp.Or(r.err, err)
	}
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
