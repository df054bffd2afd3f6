package search

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/abidehub/abide/session/event"
)

const (
	windowBytes = 4 << 20
	// overhang is how far behind its end a window is read for the rest of a
	// message that began in it.
	overhang = 256 << 10
	// maxWindow bounds what one line can make a window grow to. Lines are at
	// most 1 MiB; what is longer is damage.
	maxWindow = 64 << 20
	// A place is sought with small reads, and where a line is longer than
	// those, with one that holds any line.
	probeBytes = 64 << 10
	longLine   = 2 << 20
)

// window is a run of whole lines.
type window struct {
	text  []byte
	first event.Seq // of its first event; what is below is for the next window
	end   event.Seq // matches must begin below it
}

// readWindow reads the lines that lie before an event. An empty one whose first
// is 0 says there are none.
func readWindow(source Source, before event.Seq) (window, error) {
	names, err := segments(source.Dir)
	if err != nil || len(names) == 0 {
		return window{}, ignoreGone(err)
	}
	for i := len(names) - 1; i >= 0; i-- {
		w, err := readSegment(filepath.Join(source.Dir, names[i]), before)
		if err != nil || w.first > 0 {
			return w, ignoreGone(err)
		}
	}
	return window{}, nil
}

// ignoreGone is for a session that is deleted while it is searched.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// segments are the event files of a session, oldest first. Their names are
// padded, so that they sort.
func segments(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	active := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "events.jsonl":
			active = true
		case strings.HasPrefix(name, "events-") && strings.HasSuffix(name, ".jsonl"):
			names = append(names, name)
		}
	}
	sort.Strings(names)
	if active {
		names = append(names, "events.jsonl")
	}
	return names, nil
}

func readSegment(path string, before event.Seq) (window, error) {
	file, err := os.Open(path)
	if err != nil {
		return window{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return window{}, err
	}
	end, err := placeOf(file, info.Size(), before)
	if err != nil || end == 0 {
		return window{}, err
	}
	for size := int64(windowBytes); ; size *= 2 {
		from := max(end-size, 0)
		text := make([]byte, min(end+overhang, info.Size())-from)
		n, err := file.ReadAt(text, from)
		if err != nil && err != io.EOF {
			return window{}, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
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
		if size > maxWindow {
			return window{}, fmt.Errorf("reading %s: a line before event %d is too long; `abide check` says more", filepath.Base(path), before)
		}
	}
}

// placeOf is the offset of the first line whose seq is not below before, found
// by halving: a log's seqs ascend.
func placeOf(file io.ReaderAt, size int64, before event.Seq) (int64, error) {
	low, high := int64(0), size
	for high-low > probeBytes {
		middle := low + (high-low)/2
		start, seq, err := lineBehind(file, middle)
		if err != nil {
			return 0, err
		}
		if seq == 0 || seq >= before {
			high = middle
		} else {
			low = start
		}
	}
	// Every line that begins in low..high is looked at; the place may be the
	// first one behind it.
	rest := io.NewSectionReader(file, low, size-low)
	text, err := io.ReadAll(io.LimitReader(rest, high-low+longLine))
	if err != nil {
		return 0, err
	}
	at := 0
	for at < len(text) {
		if seq := seqOf(text[at:]); seq >= before {
			break
		}
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return low + int64(at), nil
}

// lineBehind is the first line that begins behind an offset. A seq of 0 says
// there is none.
func lineBehind(file io.ReaderAt, offset int64) (start int64, seq event.Seq, err error) {
	for _, size := range []int{probeBytes, longLine} { // seldom is a line long
		probe := make([]byte, size)
		n, err := file.ReadAt(probe, offset)
		if err != nil && err != io.EOF {
			return 0, 0, err
		}
		at := bytes.IndexByte(probe[:n], '\n') + 1
		if seq := firstSeq(probe[at:n]); at > 0 && seq > 0 {
			return offset + int64(at), seq, nil
		}
	}
	return 0, 0, nil
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
	rest, ok := bytes.CutPrefix(line[:min(len(line), 32)], []byte(`{"seq":`))
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
