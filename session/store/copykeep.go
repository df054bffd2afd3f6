package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// cutCopy moves the lines of a copy beyond a seq to quarantine. No copy of the session
// is open. The newest lines go first, and each file's bytes are in quarantine before
// they are removed, so a crash leaves a copy that goes on further than it should, and
// never a hole.
func cutCopy(fsys FS, dir string, upTo event.Seq) error {
	sealed, err := sealedSegments(fsys, dir)
	if err != nil {
		return fmt.Errorf("list the files of a copy: %w", err)
	}
	if err := cutBeyond(fsys, dir, sealed, upTo); err != nil {
		return fmt.Errorf("set aside what is beyond seq %d: %w", upTo, err)
	}
	return nil
}

func cutBeyond(fsys FS, dir string, sealed []*segment, upTo event.Seq) error {
	active := filepath.Join(dir, activeName)
	beyond, err := setAside(fsys, dir, activeName, upTo)
	if err != nil {
		return err
	}
	for _, seg := range slices.Backward(sealed) {
		if beyond > 0 {
			break // the active file has an event that stays
		}
		// The active file is empty or goes whole: the one before becomes the active one.
		name := filepath.Base(seg.path)
		if _, err := fsys.Stat(seg.path); err != nil {
			return err
		}
		if beyond, err = setAside(fsys, dir, name, upTo); err != nil {
			return err
		}
		if err := fsys.Remove(active); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
		if err := fsys.Rename(seg.path, active); err != nil {
			return err
		}
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return truncateActive(fsys, active, beyond)
}

// setAside copies the lines of a file beyond a seq to quarantine. It returns where the
// first of them begins, which is zero if none before stays.
func setAside(fsys FS, dir, name string, upTo event.Seq) (beyond int64, err error) {
	file, err := fsys.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close() // only read from
	size, err := disk.Size(file)
	if err != nil {
		return 0, err
	}
	s := logfile.NewScan(0, upTo)
	if upTo > 0 { // otherwise none stays
		if err := s.Run(file, 0, size); err != nil {
			return 0, err
		}
	}
	part := logfile.Span{Offset: s.Good.Offset, Size: size - s.Good.Offset}
	if part.Size > 0 {
		_, _, err = quarantine(fsys, dir, fmt.Sprintf("diverged-%d", upTo), file, part)
	}
	return part.Offset, err
}

// truncateActive truncates the active file, durably.
func truncateActive(fsys FS, path string, size int64) error {
	file, err := fsys.OpenRW(path)
	if errors.Is(err, fs.ErrNotExist) && size == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err = file.Truncate(size); err == nil {
		err = file.Datasync()
	}
	return errors.Join(err, file.Close())
}
