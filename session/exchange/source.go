package exchange

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Limits of an import in bytes: of a line, of a file of a zip held in memory, and
// of all its files.
const (
	maxImportLine = 4 << 20
	maxImportFile = 32 << 20
	// MaxSum limits all files of an import.
	MaxSum = 16 << 30
	// maxImportDirectory limits the list of files of a zip.
	maxImportDirectory = 16 << 20
)

// Source is an opened export. Its user closes it.
type Source struct {
	Imported journal.Imported
	raw      event.Event // the last one of Next, as the file has it
	most     int64       // of the bytes of all files
	closers  []io.Closer
}

// Close releases the files of the export.
func (s *Source) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Open reads the beginning of an export: the zip of a session, or the lines of its
// events. An export that cannot be read is ErrInvalid, one of more than most bytes is
// ErrTooLarge.
func Open(file *os.File, most int64) (*Source, error) {
	var magic [4]byte
	n, err := file.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read import: %w", err)
	}
	s := &Source{most: most}
	var events io.Reader = file
	if string(magic[:n]) == "PK\x03\x04" {
		if events, err = s.openZip(file); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	lines := bufio.NewScanner(events)
	lines.Buffer(make([]byte, 0, 64<<10), maxImportLine)
	s.Imported.Next = func() (event.Event, error) {
		var e event.Event
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return e, fmt.Errorf("%w: %w", state.ErrInvalid, err)
			}
			return e, io.EOF
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return e, fmt.Errorf("%w: a line is not an event: %w", state.ErrInvalid, err)
		}
		if err := checkLine(lines.Bytes(), e); err != nil {
			return e, err
		}
		s.raw = e
		return heardByImport(e), nil
	}
	if s.Imported.First, err = s.Imported.Next(); errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: there are no events in it", state.ErrInvalid)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// TooLarge is the error for an import of more than most bytes.
func TooLarge(most int64) error {
	return fmt.Errorf("%w: an import takes at most %d bytes now, half of the free disk", state.ErrTooLarge, most)
}

// heardByImport returns an event of a file as an import keeps it: statements in it are
// not this hub's. The last member of a name counts, so it is appended.
func heardByImport(e event.Event) event.Event {
	if e.Type != event.TypeNote {
		return e
	}
	p, err := e.Payload()
	if err != nil {
		return e
	}
	if n, ok := p.(event.Note); ok && n.Stated() {
		data := bytes.TrimSuffix(bytes.TrimSpace(e.Data), []byte("}"))
		e.Data = fmt.Appendf(nil, `%s,"from":%q}`, data, event.FromImport)
	}
	return e
}

// openZip returns the events of a zip and prepares its other files.
func (s *Source) openZip(file *os.File) (io.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read import: %w", err)
	}
	if err := boundedDirectory(file, info.Size()); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%w: the zip cannot be read: %w", state.ErrInvalid, err)
	}
	var events io.Reader
	var blobs []*zip.File
	sum := uint64(0)
	for _, f := range archive.File {
		if sum += f.UncompressedSize64; sum > uint64(s.most) {
			return nil, TooLarge(s.most)
		}
		if sha, ok := strings.CutPrefix(f.Name, "blobs/"); ok && blobName.MatchString(sha) {
			blobs = append(blobs, f)
			continue
		}
		switch f.Name {
		case "events.jsonl":
			part, err := f.Open()
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %w", state.ErrInvalid, f.Name, err)
			}
			s.closers = append(s.closers, part)
			events = part
		case "metadata.json", comment.FileName:
			if err := s.beside(f); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", state.ErrInvalid, f.Name, err)
			}
		}
	}
	if events == nil {
		return nil, fmt.Errorf("%w: the zip has no events.jsonl", state.ErrInvalid)
	}
	var last io.Closer = io.NopCloser(nil)
	s.Imported.NextBlob = func() (string, io.Reader, error) {
		if err := last.Close(); err != nil {
			return "", nil, fmt.Errorf("%w: %w", state.ErrInvalid, err)
		}
		last = io.NopCloser(nil)
		if len(blobs) == 0 {
			return "", nil, io.EOF
		}
		f := blobs[0]
		blobs = blobs[1:]
		part, err := f.Open()
		if err != nil {
			return "", nil, fmt.Errorf("%w: %s: %w", state.ErrInvalid, f.Name, err)
		}
		last = part // one open at a time: each has buffers of its own
		return strings.TrimPrefix(f.Name, "blobs/"), io.LimitReader(part, int64(f.UncompressedSize64)), nil
	}
	return events, nil
}

// boundedDirectory refuses a zip with more files than an export has, before they are
// listed in memory. The count is in the record at the end; a zip of more than 65,535
// files says so in another one, and is refused.
func boundedDirectory(file *os.File, size int64) error {
	const record = 22
	tail := make([]byte, min(size, record+64<<10))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read import: %w", err)
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < record {
		return fmt.Errorf("%w: the zip cannot be read: it has no end", state.ErrInvalid)
	}
	if directory := binary.LittleEndian.Uint32(tail[at+12:]); directory > maxImportDirectory {
		return fmt.Errorf("%w: the zip has more than %d files", state.ErrTooLarge, math.MaxUint16-1)
	}
	return nil
}

// takeComments checks the comments of an export.
func (s *Source) takeComments(data []byte) error {
	_, list, err := comment.Parse(data)
	if err != nil {
		return err
	}
	if len(list) > comment.Max {
		return fmt.Errorf("%d comments are more than %d", len(list), comment.Max)
	}
	var taken bytes.Buffer
	if err = comment.Encode(&taken, 1, list); err == nil && len(list) > 0 {
		s.Imported.Files = map[string][]byte{comment.FileName: taken.Bytes()}
	}
	return err
}

// beside reads a small file of a zip.
func (s *Source) beside(f *zip.File) error {
	part, err := f.Open()
	if err != nil {
		return err
	}
	defer part.Close()
	data, err := io.ReadAll(io.LimitReader(part, maxImportFile))
	if err != nil {
		return err
	}
	if f.Name == comment.FileName {
		return s.takeComments(data)
	}
	var md journal.Metadata
	if err := json.Unmarshal(data, &md); err != nil {
		return err
	}
	if md.Named {
		s.Imported.Name, err = state.GivenName(md.Name)
	}
	return err
}
