package gitstate

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// lockPatience is how long a lock of another process is waited for, and lockEvery how
	// often it is looked for.
	lockPatience = 10 * time.Second
	lockEvery    = 20 * time.Millisecond
	// lockMark is the content of a lock that abide holds. The holder has it locked with
	// flock, too, so that one that a kill left behind is known and taken over.
	lockMark = "abide is changing this repository\n"
)

// ErrLocked says that another process holds a lock of the repository for longer than ten
// seconds, or left it behind.
var ErrLocked = errors.New("locked by another program")

// fileLock is the lock of a file in a git directory, as git takes it: a file beside it.
type fileLock struct {
	dir  *os.Root
	name string
	file *os.File
}

// lockRef waits for the lock of a ref.
func lockRef(ctx context.Context, common *os.Root, ref string) (*fileLock, error) {
	return lockFile(ctx, common, ref, func() error { return common.MkdirAll(path.Dir(ref), 0o777) })
}

// lockFile waits for the lock of a file.
func lockFile(ctx context.Context, dir *os.Root, name string, before func() error) (*fileLock, error) {
	l := &fileLock{dir: dir, name: name}
	until := time.Now().Add(lockPatience)
	for {
		err := before()
		if err == nil {
			if err = l.take(); err == nil {
				return l, nil
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // git removes folders without refs
		case errors.Is(err, syscall.ENOTDIR):
			return nil, fmt.Errorf("%w: %s", ErrBranchExists, path.Dir(name))
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("%w: if no git is running, delete %s", ErrLocked, filepath.Join(dir.Name(), name+".lock"))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

// take takes the lock if it is free, or if a hub that ended holds it. Otherwise the error
// is fs.ErrExist.
func (l *fileLock) take() error {
	file, err := l.dir.OpenFile(l.name+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err == nil {
		if err = flock(file); err == nil {
			_, err = file.WriteString(lockMark)
		}
		if err != nil {
			return errors.Join(err, file.Close(), l.dir.Remove(l.name+".lock"))
		}
		l.file = file
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if file, err = l.dir.OpenFile(l.name+".lock", os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		return err
	}
	if !l.left(file) {
		return errors.Join(fs.ErrExist, file.Close())
	}
	l.file = file
	return nil
}

// left reports whether an open lock is one that a hub left behind. It is then this one's.
func (l *fileLock) left(file *os.File) bool {
	text, err := io.ReadAll(io.LimitReader(file, int64(len(lockMark))+1))
	if err != nil || !bytes.Equal(text, []byte(lockMark)) || flock(file) != nil {
		return false
	}
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := l.dir.Lstat(l.name + ".lock")
	return err == nil && os.SameFile(opened, named) // it was not given up meanwhile
}

func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// put gives the file its content, and the lock up.
func (l *fileLock) put(content []byte) error { return l.putAt(content, time.Time{}) }

// putAt is put for a file with a time of its own.
func (l *fileLock) putAt(content []byte, at time.Time) error {
	made := "abide-" + rand.Text()
	err := writeSynced(l.dir, made, content)
	if err == nil && !at.IsZero() {
		err = l.dir.Chtimes(made, at, at)
	}
	if err == nil {
		if info, failed := l.dir.Lstat(l.name); failed == nil && info.IsDir() {
			_ = removeEmpty(l.dir, l.name) // refs were in it; rename fails if some are
		}
		if err = l.dir.Rename(made, l.name); err != nil {
			err = errors.Join(err, l.dir.Remove(made))
		}
	}
	return errors.Join(err, l.release())
}

func writeSynced(dir *os.Root, name string, content []byte) error {
	file, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, dir.Remove(name))
	}
	return nil
}

// release gives the lock up. Again does nothing.
func (l *fileLock) release() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.dir.Remove(l.name+".lock"), l.file.Close())
	l.file = nil
	return err
}

// removeEmpty removes a folder in which there are only folders.
func removeEmpty(dir *os.Root, name string) error {
	entries, err := fs.ReadDir(dir.FS(), name)
	for _, e := range entries {
		err = errors.Join(err, removeEmpty(dir, path.Join(name, e.Name())))
	}
	return errors.Join(err, dir.Remove(name))
}
