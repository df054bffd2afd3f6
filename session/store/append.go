package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/abidehub/abide/session/event"
)

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

// submit is the way of every append: prepare the lines, write them, publish them.
// The write is called from here and from no deeper: each frame around a system
// call costs a mispredicted return behind it.
func (l *Log) submit(ctx context.Context, drafts []event.Draft, want event.Seq) (first, last event.Seq, err error) {
	if drafts, err = l.admit(ctx, drafts); err != nil {
		return 0, 0, err
	}
	p := &l.pen
	if !p.take() {
		if r := l.awaitPen(drafts, want); r != nil {
			return l.acknowledge(ctx, r.first, r.last, r.durable(), r.err)
		}
	}
	first, last, err = l.prepare(drafts, want)
	durable := len(p.durable) > 0 && p.durable[0] <= last
	if len(p.lines) > 0 {
		if n, failed := p.file.WriteAt(p.buf, p.offset); failed != nil || n < len(p.buf) {
			err = cmp.Or(err, l.undo(cmp.Or(failed, errShort)))
		} else {
			l.publish()
		}
	}
	p.pass()
	return l.acknowledge(ctx, first, last, durable, err)
}

// acknowledge returns once the caller may be told what became of its drafts.
func (l *Log) acknowledge(ctx context.Context, first, last event.Seq, durable bool, err error) (event.Seq, event.Seq, error) {
	if err != nil {
		return 0, 0, err
	}
	if durable || l.marks.strict {
		err = l.syncTo(ctx, last)
	}
	return first, last, err
}

// admit refuses drafts that cannot be lines, and has large values become blobs. The
// caller's drafts, which may lie on its stack, are not written to.
func (l *Log) admit(ctx context.Context, drafts []event.Draft) ([]event.Draft, error) {
	if len(drafts) == 0 {
		return nil, fmt.Errorf("%w: nothing to append", ErrInvalid)
	}
	large := false
	for i := range drafts {
		d := &drafts[i]
		if err := checkDraft(d); err != nil {
			return nil, err
		}
		large = large || len(d.Data) > maxValue
	}
	if !large {
		return drafts, nil
	}
	drafts = slices.Clone(drafts)
	for i := range drafts {
		d := &drafts[i]
		if len(d.Data) <= maxValue {
			continue
		}
		data, err := l.externalize(ctx, d.Data)
		if err != nil {
			return nil, err
		}
		d.Data = data
	}
	return drafts, nil
}

// awaitPen returns nil once the caller holds the pen, or the request once another
// has written or refused it. Only here are the drafts copied: those of a call that
// finds the pen free stay on its stack.
func (l *Log) awaitPen(drafts []event.Draft, want event.Seq) *request {
	r := &request{drafts: slices.Clone(drafts), want: want}
	if l.pen.await(r) {
		return nil
	}
	return r
}

// withPen runs f while this goroutine holds the pen, so that nothing is written
// beside it. It waits its turn like an append.
func (l *Log) withPen(f func() error) error {
	p := &l.pen
	if !p.take() {
		p.await(&request{alone: true})
	}
	defer p.pass()
	return f()
}

// prepare makes the lines of the drafts, and of what was taken along, and puts them
// into the tail, where nobody sees them before they are published. There are none
// if all were refused. The caller holds the pen.
func (l *Log) prepare(drafts []event.Draft, want event.Seq) (first, last event.Seq, err error) {
	p := &l.pen
	p.buf, p.lines, p.durable = p.buf[:0], p.lines[:0], p.durable[:0]
	if err := l.ready(); err != nil {
		p.fail(err)
		return 0, 0, err
	}
	first = p.next
	next, err := l.encode(drafts, want, first)
	last = next - 1
	for _, r := range p.along {
		r.first = next
		next, r.err = l.encode(r.drafts, r.want, next)
		r.last = next - 1
	}
	if l.tail.wanted() {
		for i := range p.lines {
			w := &p.lines[i]
			l.tail.add(w.seq, p.buf[w.start:w.body])
		}
	}
	return first, last, err
}

// ready reports whether the log can be written, and makes it so where it can.
func (l *Log) ready() error {
	p := &l.pen
	if p.closed {
		return ErrClosed
	}
	if p.file == nil {
		return l.whyUnmended()
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
		if err := l.markWriter(); err != nil {
			return err
		}
	}
	if p.offset >= l.opts.SegmentBytes {
		return l.seal()
	}
	return nil
}

// encode adds the lines of one call to the buffer, or refuses it whole. It
// returns the seq after the last line.
func (l *Log) encode(drafts []event.Draft, want, next event.Seq) (event.Seq, error) {
	p := &l.pen
	buf, lines, durable := len(p.buf), len(p.lines), len(p.durable)
	first := next
	if want != 0 && want != next {
		return first, fmt.Errorf("%w: got %d, next is %d", ErrOutOfOrder, want, next)
	}
	for i := range drafts {
		d := &drafts[i]
		at, err := p.stamp(d)
		if err != nil {
			p.buf, p.lines, p.durable = p.buf[:buf], p.lines[:lines], p.durable[:durable]
			return first, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		p.at = at
		w := written{seq: next, start: len(p.buf)}
		p.buf = p.enc.appendBody(p.buf, next, d, at)
		w.body = len(p.buf)
		p.buf, w.sum = appendCRC(p.buf, w.start)
		p.lines = append(p.lines, w)
		if p.enc.durable {
			p.durable = append(p.durable, next)
		}
		next++
	}
	return next, nil
}

// undo takes back a write that failed, maybe half way, and returns what to tell
// those who wanted it.
func (l *Log) undo(err error) error {
	p := &l.pen
	l.tail.drop()
	p.ragged = true
	if p.file.Truncate(p.offset) == nil {
		p.ragged = false
	}
	if isFull(err) {
		l.health.block(err)
		l.keeper.poke()
		err = fmt.Errorf("%w: %w", ErrBlocked, err)
	} else {
		l.freeze(fmt.Errorf("write log: %w", err))
		err = l.health.refusal()
	}
	p.fail(err)
	return err
}

// publish makes the written lines known: index, marks, bell, keeper.
func (l *Log) publish() {
	p := &l.pen
	l.health.fits(int64(len(p.buf)))
	for i := range p.lines {
		w := &p.lines[i]
		if at := p.offset + int64(w.start); at == 0 || at-p.indexed >= indexStep {
			p.seg.index.add(entry{w.seq, at})
			p.indexed = at
		}
	}
	final := &p.lines[len(p.lines)-1]
	p.offset += int64(len(p.buf))
	p.next = final.seq + 1
	l.touched.Store(int64(p.at))
	if l.marks.wrote(position{seq: final.seq, first: p.seg.first, offset: p.offset, sum: final.sum}, p.durable) {
		l.bell.Ring()
	}
	l.keeper.poke()
	if cap(p.buf) > mostPerWrite {
		p.buf = nil // one huge batch must not be paid for ever after
	}
}

// fail refuses what was taken along and is not refused yet.
func (p *pen) fail(err error) {
	for _, r := range p.along {
		r.err = cmp.Or(r.err, err)
	}
}

// freeze stops the log until it is reopened: see ErrFrozen.
func (l *Log) freeze(err error) {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrAway) {
		if away := away(l.fs, l.dir); errors.Is(away, ErrAway) {
			err = fmt.Errorf("%w: %w", away, err)
		}
	}
	l.health.freeze(err)
	l.setFrozen(true)
	l.opts.Logger.Error("log is frozen", "session", l.id, "err", err)
	l.keeper.poke()
}
