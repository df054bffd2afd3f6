package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// longestLine is the most bytes of one line that are held in memory. A line
// beyond it (a file full of garbage without a line break) counts as damaged.
const longestLine = 256 << 20

// windowSize is how much of a file is read at once.
const windowSize = 64 << 10

var windows = sync.Pool{New: func() any { b := make([]byte, windowSize); return &b }}

// Reader reads the lines of a file between two offsets. One goroutine
// uses it; Close gives its window back.
type Reader struct {
	file io.ReaderAt
	end  int64 // nothing at or behind it is looked at

	window *[]byte
	base   int64 // offset of the window's first byte
	from   int   // first byte not handed out yet
	filled int   // bytes of the window that are read
	sought int   // no line break before it
}

// Raw is one line as it lies on disk.
type Raw struct {
	// Text is the line without its newline, good until the next call of the Reader.
	Text []byte
	// Offset is where the line begins in the file, in bytes.
	Offset int64
	// Size is how many bytes it has, with its newline.
	Size int64
	// Overlong says that Text is missing, because it would not fit into memory. No such
	// line counts.
	Overlong bool

	terminated bool // it has a newline
}

// NewReader reads the lines of file from offset from, where one begins, to offset end.
func NewReader(file io.ReaderAt, from, end int64) *Reader {
	return &Reader{file: file, end: end, base: from, window: windows.Get().(*[]byte)}
}

// Close must be called once, after the last Next.
func (r *Reader) Close() {
	switch len(*r.window) {
	case windowSize:
		windows.Put(r.window)
	case probeSize:
		probes.Put(r.window)
	}
	r.window = nil
}

// Next returns the next line; io.EOF after the last. Its text is good until the next call
// of a method.
func (r *Reader) Next() (Raw, error) {
	for {
		buf := (*r.window)[:r.filled]
		if i := bytes.IndexByte(buf[r.sought:], '\n'); i >= 0 {
			return r.take(r.sought+i, true), nil
		}
		r.sought = r.filled
		if r.base+int64(r.filled) >= r.end {
			if r.from == r.filled {
				return Raw{}, io.EOF
			}
			return r.take(r.filled, false), nil
		}
		if r.filled-r.from >= longestLine {
			return r.skipOverlong()
		}
		if err := r.fill(); err != nil {
			return Raw{}, err
		}
	}
}

// take hands out the bytes up to at.
func (r *Reader) take(at int, terminated bool) Raw {
	l := Raw{Text: (*r.window)[r.from:at], Offset: r.base + int64(r.from), terminated: terminated}
	r.from = at
	if terminated {
		r.from++
	}
	l.Size = r.base + int64(r.from) - l.Offset
	r.sought = r.from
	return l
}

// fill reads more bytes behind those in the buffer.
func (r *Reader) fill() error {
	if r.from > 0 {
		n := copy(*r.window, (*r.window)[r.from:r.filled])
		r.base += int64(r.from)
		r.from, r.filled, r.sought = 0, n, n
	}
	if r.filled == len(*r.window) {
		larger := make([]byte, 2*len(*r.window))
		copy(larger, (*r.window)[:r.filled])
		r.Close()
		r.window = &larger
	}
	room := (*r.window)[r.filled:]
	if left := r.end - r.base - int64(r.filled); int64(len(room)) > left {
		room = room[:left]
	}
	n, err := r.file.ReadAt(room, r.base+int64(r.filled))
	r.filled += n
	if n > 0 || err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		// The file was cut while it was read, or is shorter than was said.
		r.end = r.base + int64(r.filled)
		return nil
	}
	return fmt.Errorf("read log at %d: %w", r.base+int64(r.filled), err)
}

// skipOverlong passes over a line too long to be held.
func (r *Reader) skipOverlong() (Raw, error) {
	l := Raw{Offset: r.base + int64(r.from), Overlong: true}
	for {
		r.base += int64(r.filled)
		r.from, r.filled, r.sought = 0, 0, 0
		if r.base >= r.end {
			l.Size = r.base - l.Offset
			return l, nil
		}
		if err := r.fill(); err != nil {
			return Raw{}, err
		}
		if i := bytes.IndexByte((*r.window)[:r.filled], '\n'); i >= 0 {
			r.from, r.sought = i+1, i+1
			l.Size = r.base + int64(r.from) - l.Offset
			l.terminated = true
			return l, nil
		}
	}
}

// verdict is the decision about a line.
type verdict uint8

const (
	damaged  verdict = iota // skipped; a placeholder is served in its place
	repeated                // its seq was there before; skipped
	accepted                // an event of the log
)

// Order decides, line by line, which lines belong to the log. Recovery, readers and
// Check all use it, so they never disagree.
type Order struct {
	// Prev is the seq of the last accepted line. To begin, it is the seq before the first
	// that may come.
	Prev event.Seq
	// Last is the last seq that a complete file can have; zero of any other.
	Last event.Seq
}

// Accepts reports whether the next line is an event of the log, and moves on if it is.
func (o *Order) Accepts(p Line) bool { return o.judge(p) == accepted }

// judge decides about the next line, and moves on if it is accepted.
func (o *Order) judge(p Line) verdict {
	switch {
	case p.Quality == Bad:
		return damaged
	case p.Seq > FarSeq && p.Seq != o.Prev+1:
		return damaged // right as its checksum may be, nothing could be written behind it
	case p.Quality == Unverified && p.Seq != o.Prev+1:
		return damaged // it may be the seq that was hit
	case o.Last > 0 && p.Seq > o.Last:
		return damaged // of no seq of this file: those behind it still count
	case p.Seq <= o.Prev:
		return repeated
	}
	o.Prev = p.Seq
	return accepted
}
