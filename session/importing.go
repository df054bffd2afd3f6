package session

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
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
	maxImportSum  = 16 << 30
	// maxImportDirectory limits the list of files of a zip.
	maxImportDirectory = 16 << 20
)

// Import restores an export: the zip of a session, or the lines of its events. It
// keeps the id, seqs and epoch. Repeating an import finds the existing session;
// made reports whether the session was created. It is ErrConflict if another
// session has the id.
func (m *Manager) Import(ctx context.Context, from io.Reader) (b *BackgroundSession, made bool, err error) {
	// A zip is read from its end, so it is stored first. The file has no name, so a
	// crash leaves none behind.
	file, err := os.CreateTemp(m.spoolDir, ".import-*")
	if err != nil {
		return nil, false, fmt.Errorf("%w: keep the import while it is read: %w", state.ErrUnavailable, err)
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return nil, false, fmt.Errorf("%w: keep the import while it is read: %w", state.ErrUnavailable, err)
	}
	if _, err := io.Copy(file, from); err != nil {
		return nil, false, fmt.Errorf("read import: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, false, fmt.Errorf("read import: %w", err)
	}
	return m.importFile(ctx, file)
}

func (m *Manager) importFile(ctx context.Context, file *os.File) (b *BackgroundSession, made bool, err error) {
	if err := m.makeRoom(ctx, m.settings.Load().Limits.Sessions); err != nil {
		return nil, false, err
	}
	source, err := openImport(file)
	if err != nil {
		return nil, false, err
	}
	defer source.Close()
	id, err := m.journal.Import(ctx, source.imported)
	if errors.Is(err, journal.ErrExists) {
		b, err := m.importedBefore(ctx, id, source)
		return b, false, err
	}
	if errors.Is(err, journal.ErrInvalid) {
		return nil, false, fmt.Errorf("%w: this cannot be imported: %w", state.ErrInvalid, err)
	}
	if err != nil {
		return nil, false, logError(err)
	}
	if b, err = m.Session(ctx, id); err != nil {
		return nil, false, err
	}
	if len(source.comments) > 0 {
		err = b.comments.Import(source.comments)
	}
	m.changes.Touch(id)
	m.logger.Info("session imported", "session", id)
	return b, true, err
}

// importedBefore finds the existing session of an export.
func (m *Manager) importedBefore(ctx context.Context, id string, from *importSource) (*BackgroundSession, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	start, err := from.imported.First.Payload()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", state.ErrInvalid, err)
	}
	last := event.Seq(1)
	epoch := start.(event.SessionStart).Epoch // Store.Import has checked it
	for {
		e, err := from.imported.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		last = e.Seq
		if p, err := e.Payload(); err == nil {
			if renewed, ok := p.(event.Epoch); ok {
				epoch = renewed.Epoch
			}
		}
	}
	if b.log.Epoch() != epoch || b.log.Marks().Visible < last {
		return nil, fmt.Errorf("%w: session %s is here with other events: delete it before the import", state.ErrConflict, id)
	}
	return b, nil
}

// importSource is an opened export.
type importSource struct {
	imported journal.Imported
	comments []state.Comment
	closers  []io.Closer
}

func (s *importSource) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// openImport reads the beginning of an export.
func openImport(file *os.File) (*importSource, error) {
	var magic [4]byte
	n, err := file.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read import: %w", err)
	}
	s := &importSource{}
	var events io.Reader = file
	if string(magic[:n]) == "PK\x03\x04" {
		if events, err = s.openZip(file); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	lines := bufio.NewScanner(events)
	lines.Buffer(make([]byte, 0, 64<<10), maxImportLine)
	s.imported.Next = func() (event.Event, error) {
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
		return heardByImport(e), nil
	}
	if s.imported.First, err = s.imported.Next(); errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: there are no events in it", state.ErrInvalid)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
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
func (s *importSource) openZip(file *os.File) (io.Reader, error) {
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
		if sum += f.UncompressedSize64; sum > maxImportSum {
			return nil, fmt.Errorf("%w: the files of the zip are larger than %d bytes together", state.ErrTooLarge, int64(maxImportSum))
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
	s.imported.NextBlob = func() (string, io.Reader, error) {
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

// beside reads a small file of a zip.
func (s *importSource) beside(f *zip.File) error {
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
		_, s.comments, err = comment.Parse(data)
		if len(s.comments) > comment.Max {
			err = fmt.Errorf("%d comments are more than %d", len(s.comments), comment.Max)
		}
		return err
	}
	var md journal.Metadata
	if err := json.Unmarshal(data, &md); err != nil {
		return err
	}
	if md.Named {
		s.imported.Name, err = state.GivenName(md.Name)
	}
	return err
}
