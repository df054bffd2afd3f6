package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// activeFile is a log's active file: which open file has the active name, and how
// another file gets it. A person may remove, replace or shorten the file while a
// hub writes it. The name is checked at each sync and when an idle log wakes, but
// not at an append, because unsynced events were not acknowledged. The caller holds
// the write lock, unless a method says otherwise.
type activeFile struct {
	id     string
	dir    string
	fs     FS
	logger *slog.Logger
}

// named returns an error if the active name no longer leads to the open file. The
// caller ensures that no file is being sealed.
func (a *activeFile) named(file File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink == 0 {
		return a.whyTaken()
	}
	if named, err := a.fs.Means(filepath.Join(a.dir, activeName), file); !named && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return a.whyTaken()
	}
	return nil
}

// whyTaken returns whether the file or its directory was removed.
func (a *activeFile) whyTaken() error {
	if err := away(a.fs, a.dir); errors.Is(err, journal.ErrAway) {
		return err
	}
	return errTaken
}

// is reports whether the open file has the active name.
func (a *activeFile) is(open File) bool {
	ok, err := a.fs.Means(filepath.Join(a.dir, activeName), open)
	return err == nil && ok
}

// unswap undoes half of a swap. It reports whether that was why the active name did
// not lead to the open file.
func (a *activeFile) unswap(open File, first, last event.Seq) (bool, error) {
	if last < first {
		return false, nil
	}
	sealed, active := filepath.Join(a.dir, sealedName(first, last)), filepath.Join(a.dir, activeName)
	if ours, err := a.fs.Means(sealed, open); !ours {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	if _, err := a.fs.Stat(active); !errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(fmt.Errorf("%s is not the file that was written", activeName), err)
	}
	return true, a.fs.Rename(sealed, active)
}

// swap gives the active file its final name, and gives the active name to the new
// file. It reports whether both renames were done, though they may not be durable
// yet. After a crash between them the new file is complete, and opening the log
// puts it in place.
func (a *activeFile) swap(sealed string) (swapped bool, err error) {
	active := filepath.Join(a.dir, activeName)
	if err := a.fs.Rename(active, sealed); err != nil {
		return false, err
	}
	if err := a.fs.Rename(filepath.Join(a.dir, nextName), active); err != nil {
		return false, errors.Join(err, a.fs.Rename(sealed, active))
	}
	return true, a.fs.SyncDir(a.dir)
}

// placeCopy replaces the active file by a synced copy of the first size bytes of
// the open file. The file at that name was copied to quarantine before. If an error
// comes with a file, the file is in place but its name may not be durable.
func (a *activeFile) placeCopy(open File, size int64) (File, error) {
	if err := a.keepStanding(open); err != nil {
		return nil, fmt.Errorf("keep the file in place of %s: %w", activeName, err)
	}
	aside := filepath.Join(a.dir, nextName)
	if err := a.fs.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	fresh, err := newLogFile(a.fs, aside, func(f File) error {
		return logfile.Span{Size: size}.CopyTo(f, 0, open)
	})
	if err != nil {
		return nil, err
	}
	if err := a.fs.Rename(aside, filepath.Join(a.dir, activeName)); err != nil {
		return nil, errors.Join(err, fresh.Close())
	}
	return fresh, a.fs.SyncDir(a.dir)
}

// keepStanding copies the file that has the active name instead of the open file to
// quarantine.
func (a *activeFile) keepStanding(open File) error {
	active := filepath.Join(a.dir, activeName)
	switch named, err := a.fs.Means(active, open); {
	case named, errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err // it may be the open file
	}
	f, err := a.fs.OpenRW(active)
	if err != nil {
		return err
	}
	free, err := f.TryLock()
	if err == nil && !free {
		err = errLocked
	}
	size, sizeErr := disk.Size(f)
	err = errors.Join(err, sizeErr)
	if err == nil && size > 0 {
		var kept string
		if kept, _, err = quarantine(a.fs, a.dir, "replaced", f, logfile.Span{Size: size}); err == nil {
			a.logger.Warn("the file in place of the log's file was kept", "session", a.id, "in", kept)
		}
	}
	return errors.Join(err, f.Close())
}

// newLogFile creates a locked log file and syncs it after fill has written it.
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

// writing returns a fill function that writes the given bytes.
func writing(text []byte) func(File) error {
	return func(f File) error { return disk.WriteAll(f, text, 0) }
}
