package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// The files of a log form a chain: each contains the checksum of the line before
// its first one. A file with the name of a complete one that does not fit the chain
// is stray. It is never read, moved or removed, and its seqs are served as
// placeholders.

// origin returns the origin of a segment's file. A missing file has none.
func (s *segment) origin() (o logfile.Origin, err error) {
	err = s.with(func(file File, size int64) error {
		o, err = logfile.OriginOf(file, size)
		return err
	})
	return o, err
}

// lastLine returns the last line of a file. It is bad if the file is missing or
// damaged, or if it is a placeholder in a copy: then another line is in the chain.
func (s *segment) lastLine() (p logfile.Line, err error) {
	err = s.with(func(file File, size int64) error {
		if p, err = logfile.EndingAt(file, size); p.Type() == event.TypeCorrupt {
			p = logfile.Line{}
		}
		p.Body = nil
		return err
	})
	return p, err
}

// with calls f with the open file and its size, unless the file is missing or
// empty.
func (s *segment) with(f func(file File, size int64) error) error {
	file, err := s.acquire()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrNoFile) || errors.Is(err, journal.ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.release()
	size, err := disk.Size(file)
	if err != nil {
		return fmt.Errorf("read segment: %w", err)
	}
	if size == 0 {
		return nil
	}
	return f(file, size)
}

// fits reports whether a complete file is part of the log of session id. next is
// the file after it; nil if there is none. A file whose start line names another
// session does not fit. If damage hides the link, the file's own start line
// decides; if that is damaged too, the file's name is trusted.
func (s *segment) fits(next *segment, id string) (bool, error) {
	o, err := s.origin()
	if err != nil || o.Session != "" && o.Session != id {
		return false, err
	}
	if next != nil {
		after, err := next.origin()
		if err != nil {
			return false, err
		}
		if after.Prev != "" && after.Session == id && after.First == s.lastSeq()+1 {
			last, err := s.lastLine()
			if err != nil {
				return false, err
			}
			if last.Quality == logfile.Verified && last.Seq == s.lastSeq() {
				return logfile.Hex(last.Sum) == after.Prev, nil
			}
		}
	}
	// A file that recovery began may start after seqs that were lost.
	return o.Session == "" || s.first <= o.First && o.First <= s.lastSeq(), nil
}

// errForeign means that events.jsonl belongs to another session. The session cannot
// be opened, because the file cannot stay there and is not moved.
type errForeign struct{ session string }

func (e *errForeign) Error() string {
	return fmt.Sprintf("%s belongs to session %q: put this session's own file in its place", activeName, e.session)
}

// inChain reports whether a file in a session's directory belongs to its log, so
// that its events may be shown. The active file is judged by its start line.
func inChain(fsys FS, dir, name string) (bool, error) {
	id := filepath.Base(dir)
	files, err := sealedSegments(fsys, dir)
	if err != nil {
		return false, err
	}
	files = append(files, &segment{fs: fsys, path: filepath.Join(dir, activeName)})
	defer func() {
		for _, seg := range files {
			seg.retire() // only read from
		}
	}()
	for i, seg := range files {
		switch {
		case filepath.Base(seg.path) != name:
		case i == len(files)-1:
			o, err := seg.origin()
			return o.Session == "" || o.Session == id, err
		default:
			return seg.fits(files[i+1], id)
		}
	}
	return false, nil
}

// madeBy returns the origin of the session according to its oldest file.
func madeBy(files []*segment, id string) (event.Made, error) {
	for _, seg := range files {
		o, err := seg.origin()
		if err != nil {
			return event.Made{}, err
		}
		if o.Session == id && o.Made != (event.Made{}) {
			return o.Made, nil
		}
	}
	return event.Made{}, nil
}

// study reads the whole segment and completes its index.
func (s *segment) study(file File, end int64) (*logfile.Scan, error) {
	sc := logfile.NewScan(s.first-1, s.lastSeq())
	if err := sc.Run(file, 0, end); err != nil {
		return nil, err
	}
	s.index.Replace(sc)
	return sc, nil
}

// beginsLog reports whether a line may be the first one after the sealed files.
func beginsLog(seq event.Seq, sealed []*segment) bool {
	if len(sealed) == 0 {
		return seq == 1 // a copy of the file itself: see putBack
	}
	return seq == sealed[len(sealed)-1].last+1
}
