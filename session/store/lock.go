package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/disk"
)

// dirLocker is an FS that can lock a directory itself. Without it, a hub whose LOCK
// file was removed could not be detected.
type dirLocker interface {
	// LockDir takes the exclusive advisory lock of a directory until it is closed,
	// or returns false if another process has it.
	LockDir(name string) (lock io.Closer, ok bool, err error)
}

// dirLock is the lock of a data directory: its LOCK file, and the directory.
type dirLock struct {
	File
	dir io.Closer
}

// Close releases both.
func (l dirLock) Close() error { return errors.Join(l.File.Close(), l.dir.Close()) }

// lockDir takes the lock of a data directory. The lock belongs to the open files,
// so it ends with the process. The file's text is for people and not evaluated. If
// directories cannot be locked, only the file is.
func lockDir(fsys FS, dir string, at time.Time) (File, error) {
	locker, can := fsys.(dirLocker)
	if !can {
		return lockFile(fsys, dir, at)
	}
	whole, ok, err := locker.LockDir(dir)
	if err != nil {
		return lockFile(fsys, dir, at)
	}
	if !ok {
		return nil, &LockedError{Dir: dir, Holder: holderOf(fsys, dir)}
	}
	f, err := lockFile(fsys, dir, at)
	if err != nil {
		return nil, errors.Join(err, whole.Close())
	}
	return dirLock{f, whole}, nil
}

// holderOf returns the text of the LOCK file, which names the process that holds
// it; empty if there is none.
func holderOf(fsys FS, dir string) string {
	f, err := fsys.Open(filepath.Join(dir, lockName))
	if err != nil {
		return ""
	}
	defer f.Close() // only read from
	return readHolder(f)
}

// lockFile takes the lock of the LOCK file.
func lockFile(fsys FS, dir string, at time.Time) (File, error) {
	path := filepath.Join(dir, lockName)
	f, err := fsys.Create(path)
	if errors.Is(err, fs.ErrExist) {
		f, err = fsys.OpenRW(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	ok, err := f.TryLock()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	if !ok {
		holder := readHolder(f)
		return nil, errors.Join(&LockedError{Dir: dir, Holder: holder}, f.Close())
	}
	if err := writeHolder(f, at); err != nil && !disk.IsFull(err) { // the text is for people
		return nil, errors.Join(fmt.Errorf("write lock: %w", err), f.Close())
	}
	return f, nil
}

// writeHolder writes the holder's name into the LOCK file.
func writeHolder(f File, at time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	text := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, at.UTC().Format(time.RFC3339))
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	return err
}

func readHolder(f File) string {
	text := make([]byte, 256)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text[:n]), "?"))
}
