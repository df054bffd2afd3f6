package search

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

const (
	windowBytes = 4 << 20
	// overhang is how far behind its end a window is read for the rest of a
	// message that began in it.
	overhang = 256 << 10
	// maxWindow bounds a window, which one line can make grow. Lines are at most 1
	// MiB; a longer one is damage.
	maxWindow = 64 << 20
	// near is how close halving comes to a place; then lines are looked at.
	near = 64 << 10
	// headBytes is where a line says its seq.
	headBytes = 32
)

// window is a run of whole lines. Its text is good until the next is read.
type window struct {
	text  []byte
	first event.Seq // of its first event; lower ones are for the next window
	end   event.Seq // matches must begin below it
}

// readWindow reads the lines that lie before an event. An empty one with first 0
// says there are none.
func (s *scan) readWindow(source Source, before event.Seq) (window, error) {
	parts, err := source.Lines()
	if err != nil {
		return window{}, ignoreGone(err)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		w, err := s.readPart(parts[i], before)
		if err != nil || w.first > 0 {
			return w, ignoreGone(err)
		}
	}
	return window{}, nil
}

// ignoreGone is for a session that is deleted while it is searched.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	return err
}

func (s *scan) readPart(part journal.Part, before event.Seq) (window, error) {
	file, err := part.Open()
	if err != nil || file == nil {
		return window{}, err
	}
	defer file.Close() // it was only read from
	size := file.Size()
	end, err := s.placeOf(file, size, before)
	if err != nil || end == 0 {
		return window{}, err
	}
	for wanted := int64(windowBytes); ; wanted *= 2 {
		from := max(end-wanted, 0)
		text := s.buf(int(min(end+overhang, size) - from))
		n, err := file.ReadAt(text, from)
		if err != nil && err != io.EOF {
			return window{}, fmt.Errorf("read lines before event %d: %w", before, err)
		}
		text = text[:n]
		skip := 0
		if from > 0 { // the window begins within a line
			skip = bytes.IndexByte(text, '\n') + 1
		}
		first := firstSeq(text[skip:])
		if first > 0 && first < before {
			return window{text[skip:], first, before}, nil
		}
		if from == 0 {
			return window{}, nil
		}
		if wanted > maxWindow {
			return window{}, fmt.Errorf("a line before event %d is too long; `abide check` says more", before)
		}
	}
}

// buf is n bytes of the buffer, which grows where a line needs it.
func (s *scan) buf(n int) []byte {
	if cap(s.buffer) < n {
		s.buffer = make([]byte, n)
	}
	return s.buffer[:n]
}

// placeOf is the offset of the first line with a seq not below before, found by
// halving: a log's seqs ascend.
func (s *scan) placeOf(file io.ReaderAt, size int64, before event.Seq) (int64, error) {
	low, high := int64(0), size
	for high-low > near {
		middle := low + (high-low)/2
		start, seq, err := s.lineBehind(file, middle)
		if err != nil {
			return 0, err
		}
		if seq == 0 || seq >= before {
			high = middle
		} else {
			low = start
		}
	}
	// The place is one of the lines that begin in low..high, or the next.
	for {
		text, err := s.probeAt(file, low, near)
		if err != nil {
			return 0, err
		}
		at := 0
		for seqOf(text[at:]) < before {
			next := bytes.IndexByte(text[at:], '\n')
			if next < 0 {
				break
			}
			at += next + 1
		}
		if seqOf(text[at:]) >= before {
			return low + int64(at), nil
		}
		if low += int64(at); at == 0 { // one line fills it
			next, err := s.nextLine(file, low)
			if err != nil || next == 0 {
				return low, err
			}
			low = next
		}
	}
}

// lineBehind is the first line with a seq that begins behind an offset. A seq of
// 0 says there is none.
func (s *scan) lineBehind(file io.ReaderAt, offset int64) (start int64, seq event.Seq, err error) {
	for start = offset; ; {
		start, err = s.nextLine(file, start)
		if err != nil || start == 0 {
			return 0, 0, err
		}
		head, err := s.probeAt(file, start, headBytes)
		if err != nil {
			return 0, 0, err
		}
		if seq := seqOf(head); seq > 0 {
			return start, seq, nil
		}
	}
}

// nextLine is where the line behind an offset begins, however far that is; 0 if
// there is none.
func (s *scan) nextLine(file io.ReaderAt, offset int64) (int64, error) {
	for size := 4 << 10; ; size = near {
		text, err := s.probeAt(file, offset, size)
		if err != nil || len(text) == 0 {
			return 0, err
		}
		if at := bytes.IndexByte(text, '\n'); at >= 0 {
			return offset + int64(at) + 1, nil
		}
		offset += int64(len(text))
	}
}

// probeAt reads up to n bytes at an offset, which are good until the next probe.
func (s *scan) probeAt(file io.ReaderAt, offset int64, n int) ([]byte, error) {
	if cap(s.probe) < n {
		s.probe = make([]byte, n)
	}
	read, err := file.ReadAt(s.probe[:n], offset)
	if err == io.EOF {
		err = nil
	}
	return s.probe[:read], err
}

// firstSeq is the seq of the first line that has one.
func firstSeq(text []byte) event.Seq {
	for len(text) > 0 {
		if seq := seqOf(text); seq > 0 {
			return seq
		}
		next := bytes.IndexByte(text, '\n')
		if next < 0 {
			return 0
		}
		text = text[next+1:]
	}
	return 0
}

// seqOf reads the seq a line begins with; 0 if it has none.
func seqOf(line []byte) event.Seq {
	rest, ok := bytes.CutPrefix(line[:min(len(line), headBytes)], []byte(`{"seq":`))
	comma := bytes.IndexByte(rest, ',')
	if !ok || comma < 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(rest[:comma]), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return event.Seq(n)
}
