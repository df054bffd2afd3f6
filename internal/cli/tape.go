package cli

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

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

// hubEvents is a session's log as the hub hands it out: an observer.Source.
type hubEvents struct {
	hub *client.Hub
	id  string
}

// Changed implements observer.Source. It never rings: a tape does not grow.
func (hubEvents) Changed() <-chan struct{} { return nil }

// ReadAfter implements observer.Source.
func (h hubEvents) ReadAfter(ctx context.Context, after event.Seq, _ int) (event.Batch, error) {
	page, err := h.hub.EventsAfter(ctx, h.id, after, 500)
	if err != nil || len(page.Events) == 0 {
		return event.Batch{}, err
	}
	data, err := json.Marshal(page.Events)
	return event.Batch{
		First: page.Events[0].Seq, Last: page.Events[len(page.Events)-1].Seq, Count: len(page.Events), JSON: data[1 : len(data)-1],
	}, err
}

const (
	// fileStep is how many lines lie between two places that an eventFile remembers,
	// and longestLine bounds a line.
	fileStep    = 100
	longestLine = 4 << 20
	// mostUnpacked bounds the events of a zip, in bytes.
	mostUnpacked = 4 << 30
)

// eventFile is the lines of an export: an observer.Source.
type eventFile struct {
	file        io.ReaderAt
	first, last event.Seq
	offsets     []int64 // of every fileStep-th line
	size        int64
}

// errZip is the error of openEventFile for a zip, whose events unpackEvents takes out.
var errZip = errors.New("the file is a zip")

// unpackEvents returns the events of a zip that abide export wrote, in a file that is
// gone once it is closed.
func unpackEvents(archive *os.File) (*os.File, error) {
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

// openEventFile reads a file once, to know where its lines are.
func openEventFile(file interface {
	io.Reader
	io.ReaderAt
}) (*eventFile, error) {
	begin := make([]byte, 4)
	if n, _ := file.ReadAt(begin, 0); string(begin[:n]) == "PK\x03\x04" {
		return nil, errZip
	}
	f := &eventFile{file: file}
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
func (*eventFile) Changed() <-chan struct{} { return nil }

// ReadAfter implements observer.Source. It returns up to fileStep events.
func (f *eventFile) ReadAfter(ctx context.Context, after event.Seq, _ int) (event.Batch, error) {
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
