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
	"github.com/abidehub/abide/session/store/logfile"
)

const (
	windowBytes = 4 << 20
	// overhang is how far behind its end a window is read for the rest of a
	// message that began in it.
	overhang = 256 << 10
	// maxWindow bounds a window, which one line can make grow. Lines are at most 1
	// MiB; a longer one is damage.
	maxWindow = 64 << 20
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
		w, err := s.readPart(parts[i], source.After, before)
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

// readPart reads the lines of a part between two events, both excluded.
func (s *scan) readPart(part journal.Part, after, before event.Seq) (window, error) {
	file, err := part.Open()
	if err != nil || file == nil {
		return window{}, err
	}
	defer file.Close() // it was only read from
	end, err := placeOf(file, before)
	if err != nil || end == 0 {
		return window{}, err
	}
	least := int64(0)
	if after > 0 {
		if least, err = placeOf(file, after+1); err != nil {
			return window{}, err
		}
	}
	for wanted := int64(windowBytes); ; wanted *= 2 {
		from := max(end-wanted, least)
		text := s.buf(int(min(end+overhang, file.Size()) - from))
		n, err := file.ReadAt(text, from)
		if err != nil && err != io.EOF {
			return window{}, fmt.Errorf("read lines before event %d: %w", before, err)
		}
		text = text[:n]
		if from > least { // the window begins within a line
			text = text[bytes.IndexByte(text, '\n')+1:]
		}
		if first := firstSeq(text); first > 0 && first < before {
			return window{text, first, before}, nil
		}
		if from == least {
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

// placeOf is the offset of the first line with a seq not below before.
func placeOf(file journal.Lines, before event.Seq) (int64, error) {
	var unknown logfile.Index
	_, from, err := unknown.Find(file, before, file.Size())
	if err != nil {
		return 0, err
	}
	lines := logfile.NewReader(file, from, file.Size())
	defer lines.Close()
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return file.Size(), nil
		}
		if err != nil || seqOf(line.Text) >= before {
			return line.Offset, err
		}
	}
}

// firstSeq is the seq of the first line that has one.
func firstSeq(text []byte) event.Seq {
	for line := range bytes.Lines(text) {
		if seq := seqOf(line); seq > 0 {
			return seq
		}
	}
	return 0
}

// seqOf reads the seq a line begins with; 0 if it has none.
func seqOf(line []byte) event.Seq {
	rest, ok := bytes.CutPrefix(line[:min(len(line), 32)], []byte(`{"seq":`))
	digits, _, whole := bytes.Cut(rest, []byte(","))
	if !ok || !whole {
		return 0
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return event.Seq(n)
}
