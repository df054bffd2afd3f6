package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

const (
	// importEvents and importBytes limit one write of an import.
	importEvents = 500
	importBytes  = 1 << 20
)

// Import creates a session from events that have seqs, times and epochs. It creates
// all of it or nothing. The metadata is marked Imported. ErrExists if a session has
// the id, ErrInvalid if the events are not a log from its beginning.
func (s *Store) Import(ctx context.Context, in journal.Imported) (id string, err error) {
	payload, err := in.First.Payload()
	start, ok := payload.(event.SessionStart)
	if err != nil || !ok || in.First.Seq != 1 || !journal.ValidID(start.SessionID) || !logfile.IsEpoch(start.Epoch) || start.Format != logFormat {
		return "", fmt.Errorf("%w: it does not begin with the first event of a session, session_start of format %d", journal.ErrInvalid, logFormat)
	}
	id = start.SessionID
	e := &entryOf{opening: make(chan struct{}), hidden: true}
	s.mu.Lock()
	if s.closed || s.sessions[id] != nil {
		err = journal.ErrExists
		if s.closed {
			err = journal.ErrClosed
		}
		s.mu.Unlock()
		return id, err
	}
	s.sessions[id] = e
	s.mu.Unlock()
	meta, err := s.importAside(ctx, start, in)
	s.mu.Lock()
	opening := e.opening
	e.opening, e.hidden = nil, false
	if e.meta = meta; err != nil {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	close(opening)
	if err != nil {
		return id, fmt.Errorf("import session %s: %w", id, err)
	}
	return id, nil
}

// importAside writes the session under a temporary name and renames it.
func (s *Store) importAside(ctx context.Context, start event.SessionStart, in journal.Imported) (journal.Metadata, error) {
	fsys, dir := s.opts.FS, filepath.Join(s.root(), start.SessionID)
	aside := filepath.Join(s.root(), newPrefix+start.SessionID)
	if err := fsys.Mkdir(aside); err != nil && !errors.Is(err, fs.ErrExist) {
		return journal.Metadata{}, err
	}
	opts := s.opts
	opts.Now, opts.machineTime = func() time.Time { return in.First.Time }, false
	opts.SegmentBytes = math.MaxInt64
	l, err := fillNew(aside, aside, s.RunID(), opts, start)
	if err == nil {
		l.flusher.start()
		err = errors.Join(l.take(ctx, start.Epoch, in), l.close())
	}
	if err == nil {
		err = fsys.Rename(aside, dir)
	}
	if err == nil {
		err = fsys.SyncDir(s.root())
	}
	if err != nil {
		return journal.Metadata{}, errors.Join(err, fsys.RemoveAll(aside))
	}
	return readMetadata(fsys, dir)
}

// take writes everything behind the first event.
func (l *Log) take(ctx context.Context, epoch string, in journal.Imported) error {
	for in.NextBlob != nil {
		sha, data, err := in.NextBlob()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		blob, err := l.PutBlobFrom(ctx, "", data)
		if err != nil {
			return err
		}
		if blob.SHA256 != sha {
			return fmt.Errorf("%w: the bytes of blob %s have the hash %s", journal.ErrInvalid, sha, blob.SHA256)
		}
	}
	for name, data := range in.Files {
		if err := disk.Replace(l.fs, filepath.Join(l.dir, name), data); err != nil {
			return err
		}
	}
	epoch, err := l.takeEvents(ctx, epoch, in)
	if err != nil {
		return err
	}
	l.metadataFile.mu.Lock()
	l.metadataFile.meta.Epoch = epoch
	l.metadataFile.version++
	l.metadataFile.mu.Unlock()
	return l.Label(func(m *journal.Metadata) {
		m.Imported = !in.Own
		if in.Name != "" {
			m.Name, m.Named = in.Name, true
		}
	})
}

// takeEvents writes the events and returns the epoch of the last.
func (l *Log) takeEvents(ctx context.Context, epoch string, in journal.Imported) (string, error) {
	var drafts []event.Draft
	first, size := event.Seq(2), 0
	flush := func() error {
		if len(drafts) == 0 {
			return nil
		}
		at, last, err := l.Append(ctx, drafts...)
		if err == nil && at != first {
			err = fmt.Errorf("event %d was written as %d", first, at)
		}
		first, size, drafts = last+1, 0, drafts[:0]
		return err
	}
	for want := event.Seq(2); ; want++ {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return epoch, flush()
		}
		if err != nil {
			return "", err
		}
		if e.Seq != want || e.FirstSeq != 0 {
			return "", fmt.Errorf("%w: event %d comes where %d belongs", journal.ErrInvalid, e.Seq, want)
		}
		if p, err := e.Payload(); err == nil {
			switch p := p.(type) {
			case event.Epoch:
				epoch = p.Epoch
			case event.SegmentStart:
				epoch = p.Epoch
			}
		}
		data, err := compact(e.Data)
		if err != nil {
			return "", fmt.Errorf("%w: data of event %d: %w", journal.ErrInvalid, e.Seq, err)
		}
		drafts = append(drafts, event.Draft{Type: e.Type, Time: e.Time, Turn: e.Turn, Data: data})
		if size += len(data); size > importBytes || len(drafts) == importEvents {
			if err := flush(); err != nil {
				return "", err
			}
		}
	}
}

// compact makes one line of a JSON object.
func compact(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, data); err != nil {
		return nil, err
	}
	return bytes.ToValidUTF8(buf.Bytes(), []byte("\uFFFD")), nil
}
