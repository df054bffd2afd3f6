package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
	"github.com/abidehub/abide/session/store/logfile"
)

// submit performs every append: prepare the lines, write them, publish them. The
// write is called here and no deeper: each stack frame around a system call costs a
// mispredicted return after it.
func (w *writer) submit(ctx context.Context, c condition, drafts []event.Draft) (first, last event.Seq, err error) {
	if drafts, err = w.admit(ctx, drafts); err != nil {
		return 0, 0, err
	}
	p := &w.out
	if !w.lock.tryLock() {
		if r := w.awaitLock(c, drafts); r != nil {
			return w.acknowledge(ctx, r.first, r.last, r.durable(), r.err)
		}
	}
	first, last, err = w.prepare(c, drafts)
	durable := len(p.durable) > 0 && p.durable[0] <= last
	if len(p.lines) > 0 {
		if n, failed := p.file.WriteAt(p.buf, p.offset); failed != nil || n < len(p.buf) {
			err = cmp.Or(err, w.undo(cmp.Or(failed, disk.ErrShort)))
		} else {
			w.publish()
		}
	}
	w.lock.unlock()
	return w.acknowledge(ctx, first, last, durable, err)
}

// acknowledge waits until the caller may be told the result for its drafts.
func (w *writer) acknowledge(ctx context.Context, first, last event.Seq, durable bool, err error) (event.Seq, event.Seq, error) {
	if err != nil {
		return 0, 0, err
	}
	if durable || w.marks.strict {
		err = w.sync.syncTo(ctx, last)
	}
	return first, last, err
}

// admit refuses drafts that cannot be lines and moves large values into blobs. It
// does not write to the caller's drafts, which may be on its stack.
func (w *writer) admit(ctx context.Context, drafts []event.Draft) ([]event.Draft, error) {
	if len(drafts) == 0 {
		return nil, fmt.Errorf("%w: nothing to append", journal.ErrInvalid)
	}
	large := false
	for i := range drafts {
		d := &drafts[i]
		if err := checkDraft(d); err != nil {
			return nil, err
		}
		large = large || len(d.Data) > blobs.MaxValue
	}
	if !large {
		return drafts, nil
	}
	drafts = slices.Clone(drafts)
	for i := range drafts {
		d := &drafts[i]
		if len(d.Data) <= blobs.MaxValue {
			continue
		}
		data, err := w.shrink(ctx, d.Data)
		if err != nil {
			return nil, err
		}
		d.Data = data
	}
	return drafts, nil
}

// shrink moves the large values of a payload into blobs.
func (w *writer) shrink(ctx context.Context, data []byte) ([]byte, error) {
	h := &w.health
	data, err := blobs.Shrink(data, func(mediaType string, value []byte) (event.Blob, error) {
		size := int64(len(value))
		h.wants.Store(size) // set before a full device is noticed, or the flusher would try to get too little space
		blob, err := w.blobs.PutBlob(ctx, mediaType, value)
		switch {
		case err == nil:
			h.fits(size)
		case !errors.Is(err, journal.ErrBlocked): // otherwise the caller repeats the append
			h.wants.CompareAndSwap(size, 0)
		}
		return blob, err
	})
	if errors.Is(err, blobs.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", journal.ErrInvalid, err)
	}
	return data, err
}

// checkDraft refuses a draft that would break the line format or the wire format.
// That the data is compact, valid JSON is the job of its maker.
func checkDraft(d *event.Draft) error {
	n := len(d.Data)
	if n < 2 || d.Data[0] != '{' || d.Data[n-1] != '}' {
		return fmt.Errorf("%w: data of %q is not a JSON object", journal.ErrInvalid, d.Type)
	}
	if bytes.IndexByte(d.Data, '\n') >= 0 {
		return fmt.Errorf("%w: data of %q holds a line break", journal.ErrInvalid, d.Type)
	}
	if d.Type == "" || d.Turn < 0 {
		return fmt.Errorf("%w: type %q, turn %d", journal.ErrInvalid, d.Type, d.Turn)
	}
	return nil
}

// awaitLock returns nil once the caller holds the write lock, or the request once
// another caller has written or refused it. The drafts are copied only here: if the
// write lock is free, they stay on the caller's stack.
func (w *writer) awaitLock(c condition, drafts []event.Draft) *request {
	r := &request{condition: c, drafts: slices.Clone(drafts)}
	if w.lock.acquire(r) {
		return nil
	}
	return r
}

// prepare makes the lines of the drafts and of the waiting requests it takes along.
// It adds them to the tail, where readers do not see them before they are
// published. There are no lines if all were refused. The caller holds the write
// lock.
func (w *writer) prepare(c condition, drafts []event.Draft) (first, last event.Seq, err error) {
	p := &w.out
	before := p.next
	p.buf, p.lines, p.durable = p.buf[:0], p.lines[:0], p.durable[:0]
	if err := w.ready(); err != nil {
		w.lock.fail(err)
		return 0, 0, err
	}
	first = p.next
	next := first
	if err = w.refuses(c, before); err == nil {
		next, err = w.encode(drafts, first)
	}
	last = next - 1
	for _, r := range w.lock.along {
		r.first = next
		if r.err = w.refuses(r.condition, next); r.err == nil {
			next, r.err = w.encode(r.drafts, next)
		}
		r.last = next - 1
	}
	if w.tail.Wanted() {
		for i := range p.lines {
			line := &p.lines[i]
			w.tail.Add(line.seq, p.buf[line.start:line.body])
		}
	}
	return first, last, err
}

// refuses returns why an append that asks for a condition may not be written when the
// next seq is next, as its caller can know it.
func (w *writer) refuses(c condition, next event.Seq) error {
	if c.fence != 0 && c.fence != w.leased.Load() {
		return journal.ErrFenced
	}
	if c.next != 0 && c.next != next {
		return fmt.Errorf("%w: it is %d, not %d", journal.ErrMoved, next, c.next)
	}
	return nil
}

// ready reports whether the log can be written, and tries to make it so.
func (w *writer) ready() error {
	p := &w.out
	if p.closed {
		return journal.ErrClosed
	}
	if p.file == nil {
		return w.noSpaceToRepair()
	}
	if err := w.health.refusal(); err != nil {
		return err
	}
	if p.ragged {
		if err := p.file.Truncate(p.offset); err != nil {
			return fmt.Errorf("%w: truncate a failed write: %w", journal.ErrBlocked, err)
		}
		p.ragged = false
	}
	if !p.marked {
		if err := w.markWriter(); err != nil {
			return err
		}
	}
	if p.offset >= w.opts.SegmentBytes {
		return w.seal()
	}
	return nil
}

// encode adds the lines of one call to the buffer, or refuses the whole call. It
// returns the seq after the last line.
func (w *writer) encode(drafts []event.Draft, next event.Seq) (event.Seq, error) {
	p := &w.out
	buf, lines, durable := len(p.buf), len(p.lines), len(p.durable)
	first := next
	for i := range drafts {
		d := &drafts[i]
		at, err := p.stamp(d)
		if err != nil {
			p.buf, p.lines, p.durable = p.buf[:buf], p.lines[:lines], p.durable[:durable]
			return first, fmt.Errorf("%w: %w", journal.ErrInvalid, err)
		}
		p.at = at
		line := written{seq: next, start: len(p.buf)}
		p.buf = p.enc.AppendBody(p.buf, next, d, at)
		line.body = len(p.buf)
		p.buf, line.sum = logfile.AppendCRC(p.buf, line.start)
		p.lines = append(p.lines, line)
		if p.enc.Durable() {
			p.durable = append(p.durable, next)
		}
		next++
	}
	return next, nil
}

// undo removes the lines of a failed or partial write, and returns the error for
// its callers.
func (w *writer) undo(err error) error {
	p := &w.out
	w.tail.Drop()
	p.ragged = true
	if p.file.Truncate(p.offset) == nil {
		p.ragged = false
	}
	if disk.IsFull(err) {
		w.health.block(err)
		w.poke()
		err = fmt.Errorf("%w: %w", journal.ErrBlocked, err)
	} else {
		w.freeze(fmt.Errorf("write log: %w", err))
		err = w.health.refusal()
	}
	w.lock.fail(err)
	return err
}

// publish makes the written lines visible: index, marks, bell, flusher.
func (w *writer) publish() {
	p := &w.out
	w.health.fits(int64(len(p.buf)))
	for i := range p.lines {
		line := &p.lines[i]
		if at := p.offset + int64(line.start); at == 0 || at-p.indexed >= logfile.IndexStep {
			p.seg.index.Add(line.seq, at)
			p.indexed = at
		}
	}
	final := &p.lines[len(p.lines)-1]
	p.offset += int64(len(p.buf))
	p.next = final.seq + 1
	w.touched.Store(int64(p.at))
	if w.marks.wrote(position{seq: final.seq, first: p.seg.first, offset: p.offset, sum: final.sum}, p.durable) {
		w.bell.Ring()
	}
	w.poke()
	if cap(p.buf) > mostPerWrite {
		p.buf = nil // do not keep the buffer of one huge batch
	}
}
