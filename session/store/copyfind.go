package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// foundCopy is what the files of a copy hold: a beginning of the machine's log.
type foundCopy struct {
	sealed []*segment
	active *segment // nil if the active file is empty
	end    copyEnd
	offset int64     // end of the last line in the active file
	at     time.Time // of the last line
}

// findCopy reads the files of a copy in a directory. It cuts the active file behind the
// last line that fits, and changes nothing else. Complete files were synced before they
// got their names, so only the active one is looked into.
func findCopy(fsys FS, dir, id string, logger *slog.Logger) (*foundCopy, error) {
	sealed, err := sealedSegments(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("list the files of a copy: %w", err)
	}
	file, err := openCopyFile(fsys, dir, sealed)
	if err != nil {
		return nil, err
	}
	f := &foundCopy{sealed: sealed, end: copyEnd{id: id}}
	err = f.scan(fsys, dir, file, logger)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read the copy of session %s: %w", id, err)
	}
	return f, nil
}

// openCopyFile opens the active file of a copy, and makes it if it is missing.
func openCopyFile(fsys FS, dir string, sealed []*segment) (File, error) {
	path := filepath.Join(dir, activeName)
	file, err := fsys.OpenRW(path)
	if errors.Is(err, fs.ErrNotExist) {
		// There was a crash between the two renames that begin a file.
		if file, err = promoteNext(fsys, dir, path, sealed); err == nil && file == nil {
			file, err = fsys.Create(path)
		}
		if err == nil {
			err = fsys.SyncDir(dir)
		}
	}
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, fmt.Errorf("open the copy: %w", err)
	}
	removeHalfMade(fsys, dir)
	return file, nil
}

// scan reads the active file up to the first line that does not fit, and cuts it there.
func (f *foundCopy) scan(fsys FS, dir string, file File, logger *slog.Logger) error {
	size, err := disk.Size(file)
	if err != nil {
		return err
	}
	if err := f.follow(); err != nil {
		return err
	}
	first := f.end.seq + 1
	lines := logfile.NewReader(file, 0, size)
	defer lines.Close()
	for {
		l, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if l.Overlong || l.Size != int64(len(l.Text))+1 {
			break
		}
		p, err := f.end.accept(l.Text, first, l.Offset == 0)
		if err != nil {
			break
		}
		if f.active == nil {
			if len(f.sealed) == 0 {
				first = p.Seq
			}
			f.active = &segment{fs: fsys, first: first, lent: true, path: filepath.Join(dir, activeName)}
		}
		f.active.index.Add(p.Seq, l.Offset)
		f.offset = l.Offset + l.Size
		if at, ok := timeOf(p.Body); ok {
			f.at = at
		}
	}
	if f.active == nil && len(f.sealed) > 0 {
		if err := f.study(); err != nil {
			return err
		}
	}
	if f.offset == size {
		return nil
	}
	logger.Info("the end of a copy was cut", "session", f.end.id, "seq", f.end.seq, "bytes", size-f.offset)
	return file.Truncate(f.offset)
}

// follow begins the end of the copy with that of the last complete file.
func (f *foundCopy) follow() error {
	if len(f.sealed) == 0 {
		return nil
	}
	last := f.sealed[len(f.sealed)-1]
	defer last.rest()
	p, err := last.lastLine()
	if f.end.seq = last.last; p.Quality == logfile.Verified && p.Seq == last.last {
		f.end.sum = p.Sum
	}
	return err
}

// study reads the last complete file for what the active one does not say.
func (f *foundCopy) study() error {
	last := f.sealed[len(f.sealed)-1]
	defer last.rest()
	return last.with(func(file File, size int64) error {
		s, err := last.study(file, size)
		if err == nil {
			f.end.epoch = s.Epoch
			f.at, _ = s.LastTime()
		}
		return err
	})
}

// timeOf is the time in a line's body.
func timeOf(body []byte) (time.Time, bool) {
	text, ok := logfile.BodyTime(body)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(event.TimeLayout, text)
	return at, err == nil
}
