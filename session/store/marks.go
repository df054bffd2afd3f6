package store

import (
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// position is the end of the line of seq.
type position struct {
	seq    event.Seq
	first  event.Seq // first seq of the file that holds the line
	offset int64     // end of the line in that file
	sum    uint32    // checksum of the line
}

// marks holds the watermarks. Readers read visible without a lock. The lock is held
// for a few instructions only, never during I/O.
type marks struct {
	visible atomic.Int64
	min     atomic.Int64

	strict bool // set at construction: events become visible once synced

	mu      sync.Mutex
	written position
	synced  position
	waiting []event.Seq // durable events not yet synced, ascending
}

// reset sets the marks of a log whose lines up to p are synced.
func (m *marks) reset(min event.Seq, p position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.min.Store(int64(min))
	m.written, m.synced = p, p
	m.waiting = nil
	m.visible.Store(int64(p.seq))
}

// remove records that events below first are no longer readable. A lower first has
// no effect.
func (m *marks) remove(first event.Seq) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.min.Store(max(m.min.Load(), int64(first)))
}

// distrust resets the synced mark. Visible events stay visible.
func (m *marks) distrust(synced position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = synced
}

// raise takes the marks of another Log object of the same log.
func (m *marks) raise(other *marks) {
	written, synced := other.positions()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.min.Store(other.min.Load())
	m.written, m.synced, m.waiting = written, synced, nil
	m.advance()
}

// wrote records that everything up to p is written; the durable seqs wait for their
// sync. It reports whether readers may see more than before.
func (m *marks) wrote(p position, durable []event.Seq) bool {
	m.mu.Lock()
	m.written = p
	if len(durable) > 0 {
		m.waiting = append(m.waiting, durable...)
	}
	more := m.advance()
	m.mu.Unlock()
	return more
}

// reached records that everything up to p is synced.
func (m *marks) reached(p position) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.seq <= m.synced.seq {
		return false
	}
	m.synced = p
	done := 0
	for done < len(m.waiting) && m.waiting[done] <= p.seq {
		done++
	}
	m.waiting = append(m.waiting[:0], m.waiting[done:]...)
	return m.advance()
}

// advance moves visible. An event that waits for its sync holds back those after
// it, so events become visible in order. The caller holds mu.
func (m *marks) advance() bool {
	visible := m.written.seq
	switch {
	case m.strict:
		visible = m.synced.seq
	case len(m.waiting) > 0:
		visible = m.waiting[0] - 1
	}
	if int64(visible) <= m.visible.Load() {
		return false
	}
	m.visible.Store(int64(visible))
	return true
}

// positions returns the end of the written and of the synced part.
func (m *marks) positions() (written, synced position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written, m.synced
}

func (m *marks) snapshot() journal.Marks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return journal.Marks{
		Min:     event.Seq(m.min.Load()),
		Visible: event.Seq(m.visible.Load()),
		Written: m.written.seq,
		Synced:  m.synced.seq,
	}
}
