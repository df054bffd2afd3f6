package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
func (r *recovery) keepRepeats(file io.ReaderAt, first event.Seq, s *scan) (int, error) {
	if len(s.repeats) == 0 {
		return 0, nil
	}
	like, err := compareRepeats(file, first, s)
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
// the first seq of the file.
func compareRepeats(file io.ReaderAt, first event.Seq, s *scan) (map[int64]likeness, error) {
	like := make(map[int64]likeness, len(s.repeats))
	if len(s.repeats) == 0 {
		return like, nil
	}
	originals, err := firstLines(file, first, s)
	if err != nil {
		return nil, err
	}
	for _, again := range s.repeats {
		text := make([]byte, again.size)
		if _, err := file.ReadAt(text, again.offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read log: %w", err)
		}
		switch original := originals[again.seq]; {
		case original == nil:
			like[again.offset] = lateLine
		case bytes.Equal(bytes.TrimRight(text, "\r\n"), original):
			like[again.offset] = sameLine
		default:
			like[again.offset] = otherLine
		}
	}
	return like, nil
}

// firstLines returns the text of the line that counts of every repeated seq.
func firstLines(file io.ReaderAt, first event.Seq, s *scan) (map[event.Seq][]byte, error) {
	wanted := make(map[event.Seq][]byte, len(s.repeats))
	for _, again := range s.repeats {
		wanted[again.seq] = nil
	}
	o := order{prev: first - 1, last: s.last}
	lines := newLineReader(file, 0, s.good.offset)
	defer lines.close()
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return wanted, nil
		}
		if err != nil {
			return nil, err
		}
		if l.overlong {
			continue
		}
		p := parseLine(l.text)
		if o.judge(p) != accepted {
			continue
		}
		if text, ok := wanted[p.seq]; ok && text == nil {
			wanted[p.seq] = bytes.Clone(bytes.TrimRight(l.text, "\r"))
		}
	}
}
