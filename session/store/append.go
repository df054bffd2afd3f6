package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
)

// mostPerWrite is how many bytes of waiting appends one write takes along.
const mostPerWrite = 1 << 20

// pen writes one log. One goroutine at a time holds it; appends that come
// meanwhile wait and go out together in the next write.
type pen struct {
	mu      sync.Mutex
	held    bool
	waiting []*request
	closed  bool

	// Owned by whoever holds the pen.
	seg     *segment
	file    File      // the active segment's, locked
	next    event.Seq // the seq of the next event
	offset  int64     // end of the last whole line
	ragged  bool      // bytes of a failed write may lie behind offset
	indexed int64     // offset of the last line in the index
	marked  bool      // the metadata on disk names this run as the writer
	at      time.Time // of the last line
	enc     encoder
	buf     []byte
	lines   []written
	durable []event.Seq
	batch   []*request
}

// written is one line of a write.
type written struct {
	seq   event.Seq
	start int // of the body in the buffer
	body  int // end of the body
	sum   uint32
}

// request is one call of Append on its way.
type request struct {
	drafts      []event.Draft
	want        event.Seq // the seq the only draft must get; zero for any
	alone       bool      // wants the pen itself, not a write
	first, last event.Seq
	err         error
	// turn gives the pen to a waiting request (true), or tells it that another
	// one has written it (false). Nil unless it waits.
	turn chan bool
}

var requests = sync.Pool{New: func() any { return new(request) }}

// Append gives the drafts the next seqs and writes them with one write(2), in
// order and all or none. It returns once they are written; with a draft of a
// durable type among them, or in strict mode, once they are on the device and
// so visible. Concurrent calls are safe and share writes and syncs. A value over
// 256 KiB becomes a blob first. The drafts are not kept.
//
// ErrBlocked means nothing was written and the call may be repeated. ErrFrozen,
// or the end of ctx while waiting for the device, leaves the drafts' fate open:
// they are in the log, but were not acknowledged.
func (l *Log) Append(ctx context.Context, drafts ...event.Draft) (first, last event.Seq, err error) {
	if len(drafts) == 0 {
		return 0, 0, fmt.Errorf("%w: nothing to append", ErrInvalid)
	}
	return l.submit(ctx, drafts, 0)
}

// Record writes an event that already has its seq. It must be the next one,
// else ErrOutOfOrder. Its data is made compact. It waits as Append does.
func (l *Log) Record(ctx context.Context, e event.Event) error {
	data, err := compact(e.Data)
	if err != nil {
		return fmt.Errorf("%w: data of event %d: %w", ErrInvalid, e.Seq, err)
	}
	if e.Seq <= 0 {
		return fmt.Errorf("%w: seq %d", ErrInvalid, e.Seq)
	}
	draft := [1]event.Draft{{Type: e.Type, Time: e.Time, Turn: e.Turn, Data: data}}
	_, _, err = l.submit(ctx, draft[:], e.Seq)
	return err
}

func (l *Log) submit(ctx context.Context, drafts []event.Draft, want event.Seq) (first, last event.Seq, err error) {
	r := requests.Get().(*request)
	defer r.recycle()
	r.drafts, r.want = append(r.drafts[:0], drafts...), want
	wait := l.opts.Durability == Strict
	for i := range r.drafts {
		d := &r.drafts[i]
		if err := checkDraft(d); err != nil {
			return 0, 0, err
		}
		if len(d.Data) > maxValue {
			if d.Data, err = l.externalize(ctx, d.Data); err != nil {
				return 0, 0, err
			}
		}
		wait = wait || d.Type.Durable()
	}
	l.write(r)
	if r.err != nil {
		return 0, 0, r.err
	}
	if wait {
		if err := l.syncTo(ctx, r.last); err != nil {
			return r.first, r.last, err
		}
	}
	return r.first, r.last, nil
}

// recycle gives a finished request back.
func (r *request) recycle() {
	clear(r.drafts) // their data belongs to the caller
	*r = request{drafts: r.drafts[:0]}
	requests.Put(r)
}

// write returns once r is written or refused, by this goroutine or another.
func (l *Log) write(r *request) {
	p := &l.pen
	p.mu.Lock()
	if p.held {
		turn := p.queue(r)
		p.mu.Unlock()
		if holds := <-turn; !holds {
			return
		}
		p.mu.Lock()
	}
	p.held = true
	p.takeAlong(r)
	p.mu.Unlock()
	l.commit(p.batch)
	l.passPen(r)
}

// queue has r wait for the pen, or for another to write it. The channel is not
// kept with the request for the next: a test's bubble of time owns those made in
// it. The caller holds mu.
func (p *pen) queue(r *request) <-chan bool {
	r.turn = make(chan bool, 1)
	p.waiting = append(p.waiting, r)
	return r.turn
}

// takeAlong makes the next batch: r, which holds the pen, and those waiting
// behind it. The caller holds mu.
func (p *pen) takeAlong(r *request) {
	p.batch = append(p.batch[:0], r)
	size, n := r.size(), 0
	for n < len(p.waiting) && size < mostPerWrite && !p.waiting[n].alone {
		size += p.waiting[n].size()
		n++
	}
	p.batch = append(p.batch, p.waiting[:n]...)
	rest := copy(p.waiting, p.waiting[n:])
	clear(p.waiting[rest:])
	p.waiting = p.waiting[:rest]
}

// passPen wakes those whose lines were written, and hands the pen on.
func (l *Log) passPen(own *request) {
	p := &l.pen
	for i, r := range p.batch {
		if r != own {
			r.turn <- false
		}
		p.batch[i] = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.held = false
		return
	}
	heir := p.waiting[0]
	rest := copy(p.waiting, p.waiting[1:])
	p.waiting[rest] = nil
	p.waiting = p.waiting[:rest]
	heir.turn <- true
}

func (r *request) size() int {
	n := 0
	for i := range r.drafts {
		n += len(r.drafts[i].Data)
	}
	return n
}

// withPen runs f while this goroutine holds the pen, so that nothing is written
// beside it. It waits its turn like an append.
func (l *Log) withPen(f func() error) error {
	p := &l.pen
	r := requests.Get().(*request)
	defer r.recycle()
	r.alone = true
	p.mu.Lock()
	if p.held {
		turn := p.queue(r)
		p.mu.Unlock()
		<-turn
		p.mu.Lock()
	}
	p.held = true
	p.batch = append(p.batch[:0], r)
	p.mu.Unlock()
	defer l.passPen(r)
	return f()
}

// adopt takes over the place another pen of the same log is at.
func (p *pen) adopt(other *pen) {
	p.seg, p.file, p.next, p.offset, p.indexed = other.seg, other.file, other.next, other.offset, other.indexed
	p.marked = other.marked
}

// commit writes the requests of one batch. The caller holds the pen.
func (l *Log) commit(batch []*request) {
	if err := l.ready(); err != nil {
		fail(batch, err)
		return
	}
	p := &l.pen
	p.buf, p.lines, p.durable = p.buf[:0], p.lines[:0], p.durable[:0]
	next := p.next
	for _, r := range batch {
		next = l.encode(r, next)
	}
	if len(p.lines) == 0 {
		return // every one was refused, and knows
	}
	if err := l.put(); err != nil {
		fail(batch, err)
		return
	}
	l.publish()
}

// ready reports whether the log can be written, and makes it so where it can.
func (l *Log) ready() error {
	p := &l.pen
	if p.closed {
		return ErrClosed
	}
	if p.file == nil {
		return l.whyReadOnly()
	}
	if err := l.health.refusal(); err != nil {
		return err
	}
	if p.ragged {
		if err := p.file.Truncate(p.offset); err != nil {
			return fmt.Errorf("%w: cut off a failed write: %w", ErrBlocked, err)
		}
		p.ragged = false
	}
	if !p.marked {
		l.markWriter()
	}
	if p.offset >= l.opts.SegmentBytes {
		return l.seal()
	}
	return nil
}

// encode adds a request's lines to the buffer, or refuses it whole. It returns
// the seq after the last line.
func (l *Log) encode(r *request, next event.Seq) event.Seq {
	p := &l.pen
	buf, lines, durable := len(p.buf), len(p.lines), len(p.durable)
	first := next
	if r.want != 0 && r.want != next {
		r.err = fmt.Errorf("%w: got %d, next is %d", ErrOutOfOrder, r.want, next)
		return next
	}
	for i := range r.drafts {
		d := &r.drafts[i]
		at := d.Time
		if at.IsZero() {
			at = l.opts.Now()
		}
		start := len(p.buf)
		var err error
		if p.buf, err = p.enc.appendBody(p.buf, next, d, at); err != nil {
			r.err = fmt.Errorf("%w: %w", ErrInvalid, err)
			p.buf, p.lines, p.durable = p.buf[:buf], p.lines[:lines], p.durable[:durable]
			return first
		}
		p.at = at
		w := written{seq: next, start: start, body: len(p.buf)}
		p.buf, w.sum = appendCRC(p.buf, start)
		p.lines = append(p.lines, w)
		if d.Type.Durable() {
			p.durable = append(p.durable, next)
		}
		next++
	}
	r.first, r.last = first, next-1
	return next
}

// put writes the buffer. A write that fails half way is undone.
func (l *Log) put() error {
	p := &l.pen
	err := writeAt(p.file, p.buf, p.offset)
	if err == nil {
		l.health.fits(int64(len(p.buf)))
		return nil
	}
	p.ragged = true
	if p.file.Truncate(p.offset) == nil {
		p.ragged = false
	}
	if !isFull(err) {
		err = fmt.Errorf("write log: %w", err)
		l.freeze(err)
		return l.health.refusal()
	}
	l.health.block(err)
	l.keeper.poke()
	return fmt.Errorf("%w: %w", ErrBlocked, err)
}

// publish makes the written lines known: tail, index, marks, bell, keeper.
func (l *Log) publish() {
	p := &l.pen
	for i := range p.lines {
		w := &p.lines[i]
		l.tail.add(w.seq, p.buf[w.start:w.body])
		if at := p.offset + int64(w.start); at == 0 || at-p.indexed >= indexStep {
			p.seg.index.add(entry{w.seq, at})
			p.indexed = at
		}
	}
	final := &p.lines[len(p.lines)-1]
	p.offset += int64(len(p.buf))
	p.next = final.seq + 1
	l.touched.Store(p.at.UnixMicro())
	if l.marks.wrote(position{seq: final.seq, first: p.seg.first, offset: p.offset, sum: final.sum}, p.durable) {
		l.bell.ring()
	}
	l.keeper.poke()
	if cap(p.buf) > mostPerWrite {
		p.buf = nil // one huge batch must not be paid for ever after
	}
}

// fail refuses what is not refused yet.
func fail(batch []*request, err error) {
	for _, r := range batch {
		if r.err == nil {
			r.err = err
		}
	}
}

// freeze stops the log until it is reopened: see ErrFrozen.
func (l *Log) freeze(err error) {
	l.health.freeze(err)
	l.setFrozen(true)
	l.opts.Logger.Error("log is frozen", "session", l.id, "err", err)
	l.keeper.poke()
}

// updatedAt is when the newest event was written.
func (l *Log) updatedAt() time.Time {
	return time.UnixMicro(l.touched.Load()).UTC()
}
