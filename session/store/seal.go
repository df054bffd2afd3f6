package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// logFormat is the version of the lines this program writes.
const logFormat = 1

// seal closes the active file under its final name and begins a new one. The
// new file is made and locked aside first, so that a failure costs nothing: the
// log then goes on in the old file. The caller holds the pen.
func (l *Log) seal() error {
	p := &l.pen
	if err := l.syncTo(context.Background(), p.next-1); err != nil {
		return err
	}
	last := p.next - 1
	written, _ := l.marks.positions()
	file, final, err := l.makeSegment(written)
	if err != nil {
		l.opts.Logger.Warn("log cannot be sealed; it goes on in the same file", "session", l.id, "err", err)
		return nil
	}
	sealed := filepath.Join(l.dir, sealedName(p.seg.first, last))
	swapped, err := l.active.swap(sealed)
	if swapped {
		l.beginFile(sealed, last, file, final, err == nil)
		if err == nil {
			return nil
		}
	} else if err = errors.Join(err, file.Close()); l.active.is(p.file) {
		l.opts.Logger.Warn("log cannot be sealed; it goes on in the same file", "session", l.id, "err", err)
		return nil
	}
	// What is written now could lie in a file whose name says it is complete, or
	// in one whose name a power cut takes away.
	l.freeze(fmt.Errorf("seal log: %w", err))
	return l.health.refusal()
}

// firstLine is the line that says which segment begins.
type firstLine struct {
	position
	body []byte
}

// makeSegment makes the file of a new segment aside, locked and synced. It begins with
// a segment_start and goes on behind the line at before.
func (l *Log) makeSegment(before position) (File, firstLine, error) {
	first := before.seq + 1
	data, err := json.Marshal(event.SegmentStart{
		Format: logFormat, SessionID: l.id, Epoch: l.Epoch(), FirstSeq: first, Prev: string(appendHex(nil, before.sum)), Made: l.metadataFile.made(),
	})
	if err != nil {
		return nil, firstLine{}, err
	}
	text, sum, err := encodeLine(nil, first, event.Draft{Type: event.TypeSegmentStart, Time: l.opts.Now(), Data: data})
	if err != nil {
		return nil, firstLine{}, err
	}
	path := filepath.Join(l.dir, nextName)
	if err := l.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, firstLine{}, err
	}
	file, err := newLogFile(l.fs, path, writing(text))
	if err != nil {
		return nil, firstLine{}, err
	}
	body := text[:len(text)-crcSuffix-1]
	return file, firstLine{position{seq: first, first: first, offset: int64(len(text)), sum: sum}, body}, nil
}

// newLogFile makes a log file that is locked, and synced once fill has written
// it.
func newLogFile(fsys FS, path string, fill func(File) error) (File, error) {
	f, err := fsys.Create(path)
	if err != nil {
		return nil, err
	}
	ok, err := f.TryLock()
	if err == nil && !ok {
		err = errLocked
	}
	if err == nil {
		err = fill(f)
	}
	if err == nil {
		err = f.Datasync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), fsys.Remove(path))
	}
	return f, nil
}

// writing fills a file with the given bytes.
func writing(text []byte) func(File) error {
	return func(f File) error { return writeAt(f, text, 0) }
}
