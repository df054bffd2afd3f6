package tape

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

const (
	// fileStep is how many lines lie between two places that a File remembers,
	// and longestLine bounds a line.
	fileStep    = 100
	longestLine = 4 << 20
	// mostUnpacked bounds the events of a zip, in bytes.
	mostUnpacked = 4 << 30
)

// File is the lines of an export: an observer.Source.
type File struct {
	file        *os.File
	first, last event.Seq
	offsets     []int64 // of every fileStep-th line
	size        int64
}

// Open reads the zip or the lines that `abide export` wrote. The file is the tape's from now on,
// and closed on an error.
func Open(file *os.File) (*File, error) {
	begin := make([]byte, 4)
	if n, _ := file.ReadAt(begin, 0); string(begin[:n]) == "PK\x03\x04" {
		unpacked, err := unpack(file)
		_ = file.Close() // it was read only
		if err != nil {
			return nil, err
		}
		file = unpacked
	}
	f, err := index(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// Close closes it.
func (f *File) Close() error { return f.file.Close() }

// First is the seq of its first event.
func (f *File) First() event.Seq { return f.first }

// Last is the seq of its last event.
func (f *File) Last() event.Seq { return f.last }

// unpack returns the events of a zip that abide export wrote, in a file that is
// gone once it is closed.
func unpack(archive *os.File) (*os.File, error) {
	about, err := archive.Stat()
	if err != nil {
		return nil, err
	}
	whole, err := zip.NewReader(archive, about.Size())
	if err != nil {
		return nil, fmt.Errorf("read the zip: %w", err)
	}
	events, err := whole.Open("events.jsonl")
	if err != nil {
		return nil, errors.New("the zip has no events.jsonl: name a file that abide export wrote")
	}
	defer events.Close()
	file, err := os.CreateTemp("", "abide-play-*.jsonl")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(file, io.LimitReader(events, mostUnpacked+1))
	if err == nil && n > mostUnpacked {
		err = fmt.Errorf("the events of the zip are over %d GiB", mostUnpacked>>30)
	}
	_, seekErr := file.Seek(0, io.SeekStart)
	if err := errors.Join(err, seekErr, os.Remove(file.Name())); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// index reads a file once, to know where its lines are.
func index(file *os.File) (*File, error) {
	f := &File{file: file}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	lines.Split(wholeLines)
	for n := 0; lines.Scan(); n++ {
		var e event.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d of the file is not an event: %s", n+1, plain.Line(err.Error()))
		}
		if n == 0 {
			f.first, f.last = e.Seq, e.Seq-1
		}
		if e.Seq != f.last+1 {
			return nil, fmt.Errorf("line %d of the file is event %d, after event %d", n+1, e.Seq, f.last)
		}
		if n%fileStep == 0 {
			f.offsets = append(f.offsets, f.size)
		}
		f.last, f.size = e.Seq, f.size+int64(len(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if len(f.offsets) == 0 {
		return nil, errors.New("the file has no events")
	}
	return f, nil
}

// wholeLines is a bufio.SplitFunc that keeps the newlines.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// Changed implements observer.Source: the file stays as it is.
func (*File) Changed() <-chan struct{} { return nil }

// ReadAfter implements observer.Source. It returns up to fileStep events.
func (f *File) ReadAfter(ctx context.Context, after event.Seq, _ int) (event.Batch, error) {
	if after >= f.last || ctx.Err() != nil {
		return event.Batch{}, ctx.Err()
	}
	skip := int(max(after+1, f.first) - f.first)
	step := skip / fileStep
	end := f.size
	if step+1 < len(f.offsets) {
		end = f.offsets[step+1]
	}
	data := make([]byte, end-f.offsets[step])
	if _, err := f.file.ReadAt(data, f.offsets[step]); err != nil && !errors.Is(err, io.EOF) {
		return event.Batch{}, fmt.Errorf("read the file: %w", err)
	}
	b := event.Batch{First: f.first + event.Seq(skip), Last: f.first + event.Seq(skip) - 1}
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		if i < skip%fileStep {
			continue
		}
		if b.Count > 0 {
			b.JSON = append(b.JSON, ',')
		}
		b.JSON = append(b.JSON, line...)
		b.Last++
		b.Count++
	}
	return b, nil
}
