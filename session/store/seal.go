package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/session/event"
)

// logFormat is the version of the lines this program writes.
const logFormat = 1

// seal closes the active file under its final name and begins a new one. The
// new file is made and locked aside first, so that a failure costs nothing: the
// log then goes on in the old file. The caller holds the pen.
func (l *Log) seal() error {
	p := &l.pen
	l.syncOnce()
	if err := l.health.refusal(); err != nil {
		return err
	}
	file, final, err := l.makeSegment(p.next, l.opts.Now())
	if err != nil {
		if !isFull(err) {
			l.opts.Logger.Warn("log cannot be sealed; it goes on in the same file", "session", l.id, "err", err)
		}
		return nil
	}
	old := p.seg
	sealed := filepath.Join(l.dir, sealedName(old.first, p.next-1))
	if err := l.fs.Rename(filepath.Join(l.dir, activeName), sealed); err != nil {
		l.opts.Logger.Warn("log cannot be sealed; it goes on in the same file", "session", l.id, "err", err)
		return file.Close()
	}
	if err := l.fs.Rename(filepath.Join(l.dir, nextName), filepath.Join(l.dir, activeName)); err != nil {
		if back := l.fs.Rename(sealed, filepath.Join(l.dir, activeName)); back != nil {
			// What is written now would lie behind a name that says it is complete.
			l.freeze(fmt.Errorf("seal log: %w", errors.Join(err, back)))
			return errors.Join(l.health.refusal(), file.Close())
		}
		l.opts.Logger.Warn("log cannot be sealed; it goes on in the same file", "session", l.id, "err", err)
		return file.Close()
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		l.freeze(fmt.Errorf("sync session directory: %w", err))
		return errors.Join(l.health.refusal(), file.Close())
	}
	old.seal(sealed, p.next-1)
	p.seg = &segment{fs: l.fs, first: p.next, path: filepath.Join(l.dir, activeName), file: file}
	p.file, p.offset, p.indexed = file, final.offset, 0
	p.seg.index.add(entry{p.next, 0})
	l.segs.push(p.seg)
	l.tail.add(p.next, final.body)
	p.next++
	l.marks.wrote(final.position, nil)
	l.marks.reached(final.position)
	l.bell.ring()
	l.keeper.poke()
	return nil
}

// firstLine is the line that begins a file.
type firstLine struct {
	position
	body []byte
}

// makeSegment makes the file of a new segment aside, locked and synced, holding
// its segment_start with the given seq.
func (l *Log) makeSegment(seq event.Seq, at time.Time) (File, firstLine, error) {
	data, err := json.Marshal(event.SegmentStart{Format: logFormat, SessionID: l.id, Epoch: l.Epoch(), FirstSeq: seq})
	if err != nil {
		return nil, firstLine{}, err
	}
	line, sum, err := encodeLine(nil, seq, event.Draft{Type: event.TypeSegmentStart, Time: at, Data: data})
	if err != nil {
		return nil, firstLine{}, err
	}
	path := filepath.Join(l.dir, nextName)
	if err := l.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, firstLine{}, err
	}
	file, err := newLogFile(l.fs, path, line)
	if err != nil {
		return nil, firstLine{}, err
	}
	body := line[:len(line)-crcSuffix-1]
	return file, firstLine{position{seq: seq, first: seq, offset: int64(len(line)), sum: sum}, body}, nil
}

// newLogFile makes a log file that is locked and holds one synced line.
func newLogFile(fsys FS, path string, line []byte) (File, error) {
	f, err := fsys.Create(path)
	if err != nil {
		return nil, err
	}
	ok, err := f.TryLock()
	if err == nil && !ok {
		err = ErrReadOnly // somebody locked what was just made
	}
	if err == nil {
		var n int
		if n, err = f.WriteAt(line, 0); err == nil && n < len(line) {
			err = errShort
		}
	}
	if err == nil {
		err = f.Datasync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), fsys.Remove(path))
	}
	return f, nil
}
