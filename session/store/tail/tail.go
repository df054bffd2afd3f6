// Package tail keeps the newest events of a log in memory, as JSON for the wire.
package tail

import (
	"sort"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
)

const (
	// smallChunk is the size of the first chunk after a pause, so that an idle
	// session takes little memory.
	smallChunk = 1 << 10
	// fullChunk is the maximum size of a chunk. One batch of the live path is at
	// most one chunk.
	fullChunk = 64 << 10
	// bytesPerEvent determines the size of a chunk's table. A chunk of smaller
	// events ends early.
	bytesPerEvent = 64
)

// Tail keeps events as objects joined by commas, without their checksums. A reader
// gets a slice of it, so following a log live copies nothing and takes no lock.
//
// One goroutine at a time adds; any number may read. A reader may read up to the
// log's visible mark, which is stored after the bytes and read before them.
//
// An unread tail is dropped: when a whole tail was filled without a read, it is
// discarded, and starts again after the next read. Until then readers read the
// file, like those that are behind the tail.
type Tail struct {
	// Limit is the most bytes kept. It is set before the first event.
	Limit int

	chunks atomic.Pointer[[]*chunk] // ascending, contiguous; replaced, never changed
	asked  atomic.Bool              // there was a read since the last add

	// Owned by the adder.
	bytes  int  // capacity of the chunks
	unread int  // bytes that were added since the last read
	asleep bool // dropped until the next read
}

// chunk is a run of events. Its bytes and ends are written once and never moved.
type chunk struct {
	first event.Seq
	buf   []byte   // at its final size; filled up to used
	ends  []uint32 // ends[i] is where the object of first+i ends in buf
	used  int      // owned by the adder
	count int      // owned by the adder
}

// next is the next seq of the chunk. Only the adder may call it.
func (c *chunk) next() event.Seq { return c.first + event.Seq(c.count) }

// Wanted reports whether events should be added. If not, they may be left out. Only
// the adder calls it.
func (t *Tail) Wanted() bool { return !t.asleep || t.asked.Load() }

// Add appends the event with the given seq; body lacks its closing brace and is not
// retained. A seq that does not follow the last one restarts the tail.
func (t *Tail) Add(seq event.Seq, body []byte) {
	need := len(body) + 2 // comma and brace
	c := t.last()
	if c == nil || c.next() != seq || c.used+need > len(c.buf) || c.count == len(c.ends) {
		if t.doze(); t.asleep {
			return
		}
		c = t.grow(seq, need)
	}
	if c.count > 0 {
		c.buf[c.used] = ','
		c.used++
	}
	c.used += copy(c.buf[c.used:], body)
	c.buf[c.used] = '}'
	c.used++
	c.ends[c.count] = uint32(c.used)
	c.count++
}

func (t *Tail) last() *chunk {
	if p := t.chunks.Load(); p != nil {
		return (*p)[len(*p)-1]
	}
	return nil
}

// doze drops the tail when all of it was filled since the last read. The next read
// wakes it.
func (t *Tail) doze() {
	if t.asked.Load() {
		t.asked.Store(false)
		t.unread, t.asleep = 0, false
	}
	if t.unread >= t.Limit && !t.asleep {
		t.Drop()
		t.asleep = true
	}
}

// grow adds a chunk for seq and drops the oldest ones beyond the limit.
func (t *Tail) grow(seq event.Seq, need int) *chunk {
	var old []*chunk
	size := smallChunk
	if c := t.last(); c != nil && c.next() == seq {
		old = *t.chunks.Load()
		// A quarter of the limit at most, so that at least three are kept.
		size = min(2*len(c.buf), fullChunk, max(smallChunk, t.Limit/4))
	} else {
		t.bytes = 0
	}
	size = max(size, need)
	t.bytes += size
	t.unread += size
	for len(old) > 0 && t.bytes > t.Limit {
		t.bytes -= len(old[0].buf)
		old = old[1:]
	}
	c := &chunk{first: seq, buf: make([]byte, size), ends: make([]uint32, size/bytesPerEvent+1)}
	chunks := append(append(make([]*chunk, 0, len(old)+1), old...), c)
	t.chunks.Store(&chunks)
	return c
}

// Drop empties the tail. Only the adder calls it.
func (t *Tail) Drop() {
	t.chunks.Store(nil)
	t.bytes = 0
}

// Read returns events after seq and up to visible, at most maxBytes of them but at
// least one. It returns false if the tail does not reach back so far. The batch
// shares memory with the tail and is never changed.
func (t *Tail) Read(after, visible event.Seq, maxBytes int) (event.Batch, bool) {
	if !t.asked.Load() { // otherwise all readers would contend for it
		t.asked.Store(true)
	}
	p := t.chunks.Load()
	if p == nil || after+1 < (*p)[0].first {
		return event.Batch{}, false
	}
	chunks := *p
	// Find the last chunk that begins at or before after+1. For a reader that keeps
	// up it is the last one.
	k := len(chunks) - 1
	if chunks[k].first > after+1 {
		k = sort.Search(k, func(i int) bool { return chunks[i].first > after+1 }) - 1
	}
	c := chunks[k]
	last := visible
	if k+1 < len(chunks) {
		last = min(last, chunks[k+1].first-1)
	}
	from := int(after + 1 - c.first)
	count := int(last-c.first) + 1 - from
	if count <= 0 {
		return event.Batch{}, false
	}
	start := 0
	if from > 0 {
		start = int(c.ends[from-1]) + 1
	}
	ends := c.ends[from : from+count]
	if int(ends[count-1])-start > maxBytes {
		count = max(1, sort.Search(count, func(i int) bool { return int(ends[i])-start > maxBytes }))
	}
	end := int(ends[count-1])
	// The third index protects the adder's bytes from a caller that appends.
	return event.Batch{
		First: after + 1,
		Last:  after + event.Seq(count),
		Count: count,
		JSON:  c.buf[start:end:end],
	}, true
}
