package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// likeness is what a line is whose seq does not go on from the line before.
type likeness uint8

const (
	sameLine  likeness = iota // byte for byte the line that counts
	otherLine                 // another event of its seq: a conflict
	lateLine                  // no line counts for its seq: it lies behind a higher one
)

// keepRepeats keeps a copy of every line that does not count because of where it
// is, and of which nothing else has the bytes: rule 3. The log's own bytes stay
// as they are. It says how many are conflicts.
func (r *recovery) keepRepeats(file io.ReaderAt, first event.Seq, s *scan, before []*segment) (int, error) {
	if len(s.repeats) == 0 {
		return 0, nil
	}
	like, err := compareRepeats(file, first, s, before)
	if err != nil {
		return 0, err
	}
	for _, what := range []struct {
		like       likeness
		kind, told string
	}{
		{otherLine, "conflict", "%d bytes at %d are of events that are there already, with different bytes; they are also in %s"},
		{lateLine, "late", "%d bytes at %d are of events behind others with higher seqs, and do not count; they are also in %s"},
	} {
		for _, part := range adjoining(s.repeats, like, what.like) {
			name, made, err := quarantine(r.fs, r.dir, what.kind, file, part)
			if err != nil {
				return 0, err
			}
			if made {
				r.did(what.told, part.size, part.offset, name)
			}
		}
	}
	return countOf(like, otherLine), nil
}

// countOf is how many lines are one thing.
func countOf(like map[int64]likeness, one likeness) (n int) {
	for _, l := range like {
		if l == one {
			n++
		}
	}
	return n
}

// adjoining joins the repeated lines that are one thing into stretches, so that a
// large one is quarantined as one file.
func adjoining(repeats []repeat, like map[int64]likeness, one likeness) []span {
	var parts []span
	for _, again := range repeats {
		if like[again.offset] != one {
			continue
		}
		if n := len(parts); n > 0 && parts[n-1].offset+parts[n-1].size == again.offset {
			parts[n-1].size += again.size
			continue
		}
		parts = append(parts, span{again.offset, again.size})
	}
	return parts
}

// compareRepeats says of every repeated line, by its offset, what it is. first is
// the first seq of the file, and before are those with the seqs below.
func compareRepeats(file io.ReaderAt, first event.Seq, s *scan, before []*segment) (map[int64]likeness, error) {
	c := comparison{file: file, repeats: slices.Clone(s.repeats), like: make(map[int64]likeness, len(s.repeats))}
	if len(c.repeats) == 0 {
		return c.like, nil
	}
	slices.SortFunc(c.repeats, func(a, b repeat) int { return cmp.Compare(a.seq, b.seq) })
	for _, again := range c.repeats {
		c.like[again.offset] = lateLine
	}
	if err := c.with(file, order{prev: first - 1, last: s.last}, s.good.offset); err != nil {
		return nil, err
	}
	for _, seg := range before {
		if at := c.at(seg.first); at == len(c.repeats) || c.repeats[at].seq > seg.lastSeq() {
			continue
		}
		if err := c.withSegment(seg); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return c.like, nil
}

// comparison compares repeated lines of a file with those that count.
type comparison struct {
	file    io.ReaderAt
	repeats []repeat // by seq
	like    map[int64]likeness
}

// at is the first of the repeats with seq or a higher one.
func (c *comparison) at(seq event.Seq) int {
	at, _ := slices.BinarySearchFunc(c.repeats, seq, func(r repeat, seq event.Seq) int { return cmp.Compare(r.seq, seq) })
	return at
}

func (c *comparison) withSegment(seg *segment) error {
	file, err := seg.acquire()
	if err != nil {
		return err
	}
	defer seg.release()
	size, err := sizeOf(file)
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	return c.with(file, order{prev: seg.first - 1, last: seg.lastSeq()}, size)
}

// with compares them with the lines of a file that count.
func (c *comparison) with(file io.ReaderAt, o order, end int64) error {
	lines := newLineReader(file, 0, end)
	defer lines.close()
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.overlong {
			continue
		}
		p := parseLine(l.text)
		if o.judge(p, l.offset) != accepted {
			continue
		}
		for at := c.at(p.seq); at < len(c.repeats) && c.repeats[at].seq == p.seq; at++ {
			if err := c.compare(c.repeats[at], bytes.TrimRight(l.text, "\r")); err != nil {
				return err
			}
		}
	}
}

func (c *comparison) compare(again repeat, original []byte) error {
	text := make([]byte, again.size)
	if _, err := c.file.ReadAt(text, again.offset); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read log: %w", err)
	}
	c.like[again.offset] = otherLine
	if bytes.Equal(bytes.TrimRight(text, "\r\n"), original) {
		c.like[again.offset] = sameLine
	}
	return nil
}
