package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

const (
	// pageBytes limits the result of ReadBefore.
	pageBytes = 256 << 10
	// maxPage is the most events ReadBefore returns.
	maxPage = 10_000
)

// reader reads one log. It is safe for concurrent use and never waits for a writer.
type reader struct{ *core }

// ReadAfter returns events after the given seq, oldest first: at most maxBytes of
// them, but at least one if there is one. An empty batch means that there is no
// newer event yet. It returns visible events only and never blocks for more. For an
// unreadable event it returns a placeholder of type corrupt, so a batch has no
// holes. The batch shares memory with the log and other readers.
//
// If after is below Marks.Min-1 it returns ErrRemoved, if it is negative
// ErrInvalid.
func (r *reader) ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error) {
	if r.closed.Load() {
		return event.Batch{}, journal.ErrClosed
	}
	visible := event.Seq(r.marks.visible.Load())
	if after >= visible {
		return event.Batch{}, nil
	}
	if after < 0 {
		return event.Batch{}, fmt.Errorf("%w: seq %d", journal.ErrInvalid, after)
	}
	if b, ok := r.tail.Read(after, visible, maxBytes); ok {
		return b, nil
	}
	if err := r.removed(after + 1); err != nil {
		return event.Batch{}, err
	}
	c := collector{want: after + 1, bound: visible, maxBytes: maxBytes}
	if err := r.collect(ctx, &c); err != nil {
		return event.Batch{}, err
	}
	return c.batch(), nil
}

// ReadBefore returns the newest events below the given seq in ascending order: at
// most limit (and 10,000) of them, at most 256 KiB but at least one. 0, or a seq
// beyond the end, means the end. It reads like ReadAfter, but events that retention
// removes meanwhile only make the page shorter.
func (r *reader) ReadBefore(ctx context.Context, before event.Seq, limit int) (event.Batch, error) {
	if r.closed.Load() {
		return event.Batch{}, journal.ErrClosed
	}
	if before < 0 || limit <= 0 {
		return event.Batch{}, fmt.Errorf("%w: %d events before seq %d", journal.ErrInvalid, limit, before)
	}
	bound := event.Seq(r.marks.visible.Load())
	if before > 0 {
		bound = min(bound, before-1)
	}
	for {
		first := max(bound-event.Seq(min(limit, maxPage))+1, event.Seq(r.marks.min.Load()))
		b, err := r.page(ctx, first, bound)
		if errors.Is(err, journal.ErrRemoved) && r.removed(first) != nil {
			continue // from the remaining events; the first seq only rises
		}
		return b, err
	}
}

// page reads the events from first to bound, or the newest 256 KiB of them.
func (r *reader) page(ctx context.Context, first, bound event.Seq) (event.Batch, error) {
	if first > bound {
		return event.Batch{}, nil
	}
	if b, ok := r.tail.Read(first-1, bound, pageBytes); ok && b.Last == bound {
		return b, nil
	}
	c := collector{want: first, bound: bound, page: true}
	for c.want <= bound {
		if err := r.collect(ctx, &c); err != nil {
			return event.Batch{}, err
		}
	}
	return c.batch(), nil
}

// ReadWritten reads like ReadAfter but returns no placeholders, so that missing
// events cost nothing. It is for folds of a log, which ignore placeholders. Through
// is the seq up to which the log was read, and the after of the next call: it
// equals after if there is no newer event yet, and is otherwise higher, even if the
// batch is empty. The batch's Last is through, and its Count the number of events
// in it.
func (r *reader) ReadWritten(ctx context.Context, after event.Seq, maxBytes int) (b event.Batch, through event.Seq, err error) {
	if r.closed.Load() {
		return event.Batch{}, after, journal.ErrClosed
	}
	visible := event.Seq(r.marks.visible.Load())
	if after >= visible {
		return event.Batch{}, after, nil
	}
	if after < 0 {
		return event.Batch{}, after, fmt.Errorf("%w: seq %d", journal.ErrInvalid, after)
	}
	if b, ok := r.tail.Read(after, visible, maxBytes); ok {
		return b, b.Last, nil // the tail holds lines only
	}
	if err := r.removed(after + 1); err != nil {
		return event.Batch{}, after, err
	}
	c := collector{want: after + 1, bound: visible, maxBytes: maxBytes, sparse: true}
	if err := r.collect(ctx, &c); err != nil {
		return event.Batch{}, after, err
	}
	return c.batch(), c.want - 1, nil
}

// collect reads events from the segment with the next wanted seq.
func (r *reader) collect(ctx context.Context, c *collector) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	seg, next, err := r.segs.at(c.want)
	if err != nil {
		return err
	}
	if seg.first > c.want {
		if err := r.removed(c.want); err != nil {
			return err
		}
		r.fillLost(c, seg.first) // the oldest file was lost
		return nil
	}
	file, err := seg.acquire()
	if err != nil {
		if gone := r.removed(c.want); gone != nil {
			return gone
		}
		if now, _, err := r.segs.at(c.want); err == nil && now != seg {
			return r.collect(ctx, c) // a copy took its place: see Reopen
		}
		if next > 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrNoFile)) {
			if err := away(r.fs, r.dir); err != nil {
				return err // the file may still exist
			}
			r.fillLost(c, next)
			return nil
		}
		return err
	}
	defer seg.release()
	end, bound := int64(0), c.bound
	if next > 0 {
		bound = min(bound, next-1)
		end, err = disk.Size(file)
	} else {
		end, err = r.activeEnd(seg, file)
	}
	if err == nil && next > 0 {
		var fits bool
		if fits, err = r.chained(seg, next); err == nil && !fits {
			r.fillLost(c, next)
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	err = c.readSegment(seg, file, end, bound)
	if err == errUnsure {
		// A hole, and the place came from a search that relies on ascending seqs:
		// scan the whole segment once and read again.
		if _, err := seg.study(file, end); err != nil {
			return err
		}
		err = c.readSegment(seg, file, end, bound)
	}
	if c.holes > 0 {
		r.health.sawHoles(c.holes)
	}
	return err
}

// removed returns ErrRemoved if retention removed seq.
func (r *reader) removed(seq event.Seq) error {
	if minSeq := event.Seq(r.marks.min.Load()); seq < minSeq {
		return fmt.Errorf("%w: first is %d", journal.ErrRemoved, minSeq)
	}
	return nil
}

// fillLost adds placeholders for a missing file: the next file begins with seq
// next.
func (r *reader) fillLost(c *collector, next event.Seq) {
	c.known = false
	c.fill(min(next-1, c.bound))
	r.health.sawHoles(c.holes)
}

// chained reports whether a complete file fits the chain of the log. next is the
// first seq of the file after it. The result is cached while the file is open.
func (r *reader) chained(seg *segment, next event.Seq) (bool, error) {
	if seg.looked.Load() {
		return !seg.stray.Load(), nil
	}
	seg.looking.Lock()
	defer seg.looking.Unlock()
	if seg.looked.Load() {
		return !seg.stray.Load(), nil
	}
	after, _, err := r.segs.at(next)
	if err != nil {
		return false, err
	}
	ok, err := seg.fits(after, r.id)
	if err != nil {
		return false, err
	}
	if !ok {
		r.opts.Logger.Warn("a file does not fit the chain of the log; nothing of it is read", "session", r.id, "file", filepath.Base(seg.currentPath()))
	}
	seg.stray.Store(!ok)
	seg.looked.Store(true)
	return ok, nil
}

// activeEnd is the end of the readable part of the active segment, so that no
// reader meets a line being written.
func (r *reader) activeEnd(seg *segment, file File) (int64, error) {
	written, _ := r.marks.positions()
	if written.first == seg.first {
		return written.offset, nil
	}
	return disk.Size(file) // sealed meanwhile, or nothing written yet
}

// errUnsure reports a hole in a segment whose index is not complete.
var errUnsure = fmt.Errorf("hole beside an incomplete index")

// collector gathers events as JSON.
type collector struct {
	want     event.Seq // next seq to take
	bound    event.Seq // last seq that may be taken
	maxBytes int       // most bytes, unless page is set
	page     bool      // keep the newest pageBytes, dropping older ones
	sparse   bool      // skip missing events

	out   []byte
	first event.Seq // of out
	ends  []int     // ends of the objects in out, kept for pages only
	base  int       // start of first in out
	count int
	holes int
	prev  [64]byte // start of the line before, for the time of placeholders
	known bool     // prev is set
}

func (c *collector) batch() event.Batch {
	if c.count == 0 {
		return event.Batch{}
	}
	return event.Batch{
		First: c.first,
		Last:  c.want - 1,
		Count: c.count,
		JSON:  c.out[c.base:len(c.out):len(c.out)],
	}
}

// take adds the event of seq want; body lacks its closing brace. It returns false
// if the event does not fit.
func (c *collector) take(body []byte) bool {
	if c.count == 0 {
		c.first, c.base = c.want, len(c.out)
	} else {
		if !c.page && len(c.out)+len(body)+2 > c.maxBytes {
			return false
		}
		c.out = append(c.out, ',')
	}
	c.out = append(append(c.out, body...), '}')
	c.count++
	c.want++
	if c.page {
		c.ends = append(c.ends, len(c.out))
		for c.count > 1 && len(c.out)-c.base > pageBytes {
			c.base = c.ends[len(c.ends)-c.count] + 1
			c.first++
			c.count--
		}
	}
	return true
}

// fill adds placeholders up to the given seq, or none if sparse. It returns false
// if the batch is full before.
func (c *collector) fill(upTo event.Seq) bool {
	if c.sparse {
		c.holes += int(max(upTo-c.want+1, 0))
		c.want = max(c.want, upTo+1)
		return true
	}
	at := ""
	if c.known {
		at, _ = logfile.BodyTime(c.prev[:])
	}
	var room [160]byte
	for c.want <= upTo {
		if !c.take(logfile.Placeholder(room[:0], c.want, at)) {
			return false
		}
		c.holes++
	}
	return true
}

// readSegment takes the events of one segment up to bound. The segment's bytes
// end at end.
func (c *collector) readSegment(seg *segment, file File, end int64, bound event.Seq) error {
	at, start, err := seg.index.Find(file, c.want, end)
	if err != nil {
		return err
	}
	sure := seg.index.IsComplete()
	o := logfile.Order{Prev: seg.first - 1, Last: seg.lastSeq()}
	if at > 0 {
		o.Prev = at - 1
	}
	if c.out == nil {
		c.out = make([]byte, 0, c.guess(end-start))
	}
	c.known = false
	r := logfile.NewReader(file, start, end)
	defer r.Close()
	for c.want <= bound {
		l, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if l.Overlong {
			continue
		}
		p := logfile.Parse(l.Text)
		if !o.Accepts(p) {
			continue
		}
		if p.Seq > c.want {
			if !sure {
				return errUnsure
			}
			if !c.fill(min(p.Seq-1, bound)) {
				return nil
			}
		}
		if p.Seq == c.want && p.Seq <= bound && !c.take(p.Body) {
			return nil
		}
		if n := copy(c.prev[:], p.Body); n < len(c.prev) {
			clear(c.prev[n:])
		}
		c.known = true
	}
	if c.want <= bound {
		if !sure {
			return errUnsure
		}
		c.fill(bound)
	}
	return nil
}

// guess estimates the size of a batch, so that its buffer is allocated once.
func (c *collector) guess(left int64) int64 {
	if c.page {
		return min(left, 32<<10)
	}
	return min(left, int64(max(c.maxBytes, 0)))
}
