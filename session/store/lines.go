package store

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

// lineReader walks over the lines of a file between two offsets. One goroutine
// uses it; close gives its window back.
type lineReader struct {
	file io.ReaderAt
	end  int64 // nothing at or behind it is looked at

	window *[]byte
	base   int64 // offset of the window's first byte
	from   int   // first byte not handed out yet
	filled int   // bytes of the window that are read
	sought int   // no line break before it
}

// rawLine is one line as it lies on disk.
type rawLine struct {
	text       []byte // without its newline; good until the next call
	offset     int64
	size       int64 // with its newline
	terminated bool  // it has a newline
	overlong   bool  // text is missing: it would not fit into memory
}

func newLineReader(file io.ReaderAt, from, end int64) *lineReader {
	return &lineReader{file: file, end: end, base: from, window: windows.Get().(*[]byte)}
}

func (r *lineReader) close() {
	switch len(*r.window) {
	case windowSize:
		windows.Put(r.window)
	case probeSize:
		probes.Put(r.window)
	}
	r.window = nil
}

// next returns the next line; io.EOF after the last.
func (r *lineReader) next() (rawLine, error) {
	for {
		buf := (*r.window)[:r.filled]
		if i := bytes.IndexByte(buf[r.sought:], '\n'); i >= 0 {
			return r.take(r.sought+i, true), nil
		}
		r.sought = r.filled
		if r.base+int64(r.filled) >= r.end {
			if r.from == r.filled {
				return rawLine{}, io.EOF
			}
			return r.take(r.filled, false), nil
		}
		if r.filled-r.from >= longestLine {
			return r.skipOverlong()
		}
		if err := r.fill(); err != nil {
			return rawLine{}, err
		}
	}
}

// take hands out the bytes up to at.
func (r *lineReader) take(at int, terminated bool) rawLine {
	l := rawLine{text: (*r.window)[r.from:at], offset: r.base + int64(r.from), terminated: terminated}
	r.from = at
	if terminated {
		r.from++
	}
	l.size = r.base + int64(r.from) - l.offset
	r.sought = r.from
	return l
}

// fill reads on, behind what is already there.
func (r *lineReader) fill() error {
	if r.from > 0 {
		n := copy(*r.window, (*r.window)[r.from:r.filled])
		r.base += int64(r.from)
		r.from, r.filled, r.sought = 0, n, n
	}
	if r.filled == len(*r.window) {
		larger := make([]byte, 2*len(*r.window))
		copy(larger, (*r.window)[:r.filled])
		r.close()
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
func (r *lineReader) skipOverlong() (rawLine, error) {
	l := rawLine{offset: r.base + int64(r.from), overlong: true}
	for {
		r.base += int64(r.filled)
		r.from, r.filled, r.sought = 0, 0, 0
		if r.base >= r.end {
			l.size = r.base - l.offset
			return l, nil
		}
		if err := r.fill(); err != nil {
			return rawLine{}, err
		}
		if i := bytes.IndexByte((*r.window)[:r.filled], '\n'); i >= 0 {
			r.from, r.sought = i+1, i+1
			l.size = r.base + int64(r.from) - l.offset
			l.terminated = true
			return l, nil
		}
	}
}

// verdict is what becomes of a line.
type verdict uint8

const (
	damaged  verdict = iota // skipped; a placeholder is served in its place
	repeated                // its seq was there before; skipped
	accepted                // an event of the log
)

// order decides, line by line, what belongs to the log. Recovery, readers and
// Check all use it, so they never disagree.
type order struct {
	prev event.Seq // seq of the last accepted line
	last event.Seq // the last a complete file can have; zero of any other
}

// accepts reports whether the next line is an event of the log, and moves on if it is.
func (o *order) accepts(p parsed) bool { return o.judge(p) == accepted }

// judge decides about the next line, and moves on if it is accepted.
func (o *order) judge(p parsed) verdict {
	switch {
	case p.quality == bad:
		return damaged
	case p.seq > farSeq && p.seq != o.prev+1:
		return damaged // right as its checksum may be, nothing could be written behind it
	case p.quality == unverified && p.seq != o.prev+1:
		return damaged // it may be the seq that was hit
	case o.last > 0 && p.seq > o.last:
		return damaged // of no seq of this file: those behind it still count
	case p.seq <= o.prev:
		return repeated
	}
	o.prev = p.seq
	return accepted
}
