// Package disk is the file system as the store and the settings use it: every call that
// can fail on a device goes through FS, and small files are replaced whole.
package disk

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// FS is a file system. Every call that can fail on a real
// device goes through it, so a test can fail any one of them. Implementations
// are safe for concurrent use. One that also has Born(name string) (string,
// error), as OS has on Linux, lets a log tell its files from a copy of them; one that
// has LockDir, as OS has, keeps a second hub out when the LOCK file is removed.
type FS interface {
	// Open opens a file for reading.
	Open(name string) (File, error)
	// OpenRW opens an existing file for reading and writing.
	OpenRW(name string) (File, error)
	// Create makes a new file, 0600 under any umask; it must not exist.
	Create(name string) (File, error)
	// Mkdir makes a directory, 0700 under any umask; one that exists becomes 0700.
	Mkdir(name string) error
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Means reports whether name means the open file f.
	Means(name string, f File) (bool, error)
}

// File is an open file of an FS. Reads and writes name their offset, so one
// File serves many goroutines; Close comes after the last write.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Truncate changes the size.
	Truncate(size int64) error
	// Datasync makes the contents, and the size, durable. After it failed once
	// its later answers for the same file mean nothing.
	Datasync() error
	Stat() (fs.FileInfo, error)
	// TryLock takes the exclusive advisory lock on the file, or reports false
	// if another open file holds it. The lock ends with Close.
	TryLock() (bool, error)
}

// OS returns the real file system.
func OS() FS { return osFS{} }

// osFS is the real file system.
type osFS struct{}

func (osFS) Open(name string) (File, error) {
	f, err := openFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) OpenRW(name string) (File, error) {
	f, err := openFile(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	return newRWFile(f)
}

// openFile opens a regular file. Anything else is refused, and a pipe is not waited
// for, as it may never have a writer.
func openFile(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNoFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ErrShort reports a write that stopped early without saying why, as a device
// that is about to be full does.
var ErrShort = fmt.Errorf("short write: %w", unix.ENOSPC)

// IsFull reports whether an error says that the device, or a quota, has no space. The same
// call may succeed once there is some.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ErrNoFile refuses a directory, a pipe or a device where a file must be.
var ErrNoFile = errors.New("it is not a regular file")

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return newRWFile(f)
}

func (osFS) Mkdir(name string) error {
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: name, Err: unix.ENOTDIR}
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(name, 0o700)
}

// LockDir takes the exclusive advisory lock of a directory until it is closed, or
// reports false if another has it.
func (osFS) LockDir(name string) (io.Closer, bool, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	ok, err := osFile{d}.TryLock()
	if err != nil || !ok {
		return nil, false, errors.Join(err, d.Close())
	}
	return d, true, nil
}

func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Lstat(name) }
func (osFS) Rename(from, to string) error               { return os.Rename(from, to) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                { return os.RemoveAll(name) }

func (osFS) ReadFile(name string) ([]byte, error) {
	f, err := openFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	size, err := Size(osFile{f})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// A buffer that begins small costs five times the file while it grows.
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = data.ReadFrom(f)
	return data.Bytes(), errors.Join(err, f.Close())
}

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (osFS) Means(name string, f File) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(name)
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}

// osFile is a File of the operating system.
type osFile struct{ *os.File }

func (f osFile) Datasync() error { return datasync(f.File) }

func (f osFile) TryLock() (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// rwFile is an osFile whose writes are the bare system call: the work of os.File
// around it is a thirtieth of an append. For that, its Close may not be called
// beside a WriteAt, which the race detector would see.
type rwFile struct {
	osFile
	fd int // -1 once it is closed
}

func newRWFile(f *os.File) (*rwFile, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w := &rwFile{osFile: osFile{f}}
	if err := raw.Control(func(fd uintptr) { w.fd = int(fd) }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// WriteAt implements io.WriterAt.
func (f *rwFile) WriteAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		wrote, err := unix.Pwrite(f.fd, p[n:], at+int64(n))
		switch {
		case wrote > 0:
			n += wrote
		case err == nil:
			return n, ErrShort
		case !errors.Is(err, unix.EINTR):
			return n, err // without its name, which may be another than it was made by
		}
	}
	runtime.KeepAlive(f) // an unreachable os.File is closed
	return n, nil
}

// Close implements io.Closer.
func (f *rwFile) Close() error {
	f.fd = -1
	return f.File.Close()
}

// Size is a file's present size.
func Size(f File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ErrNotDurable says that a file was replaced, and that a power cut may take it back.
var ErrNotDurable = errors.New("the directory cannot be synced")

// Replace replaces a small file so that a crash at any moment leaves the old
// bytes or the new ones: a temporary file, synced, renamed, the directory
// synced. Only one writer of path may run at a time.
func Replace(fsys FS, path string, data []byte) error {
	return ReplaceWith(fsys, path, func(_ string, w io.Writer) error { return write(w, data) })
}

func write(w io.Writer, data []byte) error {
	_, err := w.Write(data)
	return err
}

// ReplaceWith is Replace with the bytes that fill writes, which is told the name
// of the temporary file.
func ReplaceWith(fsys FS, path string, fill func(tmp string, w io.Writer) error) error {
	tmp := path + TempSuffix
	f, err := fsys.Create(tmp)
	if errors.Is(err, fs.ErrExist) {
		// A crash left it. It was never renamed, so nothing relies on it.
		if err := fsys.Remove(tmp); err != nil {
			return fmt.Errorf("remove stale %s: %w", filepath.Base(tmp), err)
		}
		f, err = fsys.Create(tmp)
	}
	if err != nil {
		return err
	}
	return put(fsys, f, tmp, path, fill)
}

// ReplaceAmong is Replace for a file that several programs may replace at once: each has
// a temporary file of its own, and one that a crash left stays. One of them is the last.
func ReplaceAmong(fsys FS, path string, data []byte) error {
	return replaceAmong(fsys, path, func(w io.Writer) error { return write(w, data) })
}

func replaceAmong(fsys FS, path string, fill func(io.Writer) error) error {
	tmp := path + "." + rand.Text() + TempSuffix
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	return put(fsys, f, tmp, path, func(_ string, w io.Writer) error { return fill(w) })
}

// put fills the open file tmp and puts it in the place of path.
func put(fsys FS, f File, tmp, path string, fill func(tmp string, w io.Writer) error) error {
	buffered := bufio.NewWriter(&fileEnd{f, 0})
	err := fill(tmp, buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Datasync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, fsys.Remove(tmp))
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return errors.Join(err, fsys.Remove(tmp))
	}
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, err)
	}
	return nil
}

// fileEnd writes to a File, one piece after the other.
type fileEnd struct {
	file File
	size int64
}

func (e *fileEnd) Write(p []byte) (int, error) {
	if err := WriteAll(e.file, p, e.size); err != nil {
		return 0, err
	}
	e.size += int64(len(p))
	return len(p), nil
}

// WriteAll writes all of data, or says why not: a write that stops early without
// a reason is ErrShort.
func WriteAll(f File, data []byte, at int64) error {
	n, err := f.WriteAt(data, at)
	if err == nil && n < len(data) {
		err = ErrShort
	}
	return err
}

// errLinked refuses a folder that lies elsewhere: its files belong to another
// program, which may rename or remove them or change their modes.
var errLinked = errors.New("it is a symbolic link: put the directory itself in its place")

// MakeFolder makes the folder name of directory dir, unless it is there, and returns its
// path. It refuses a symbolic link. The name need not be durable.
func MakeFolder(fsys FS, dir, name string) (path string, err error) {
	path = filepath.Join(dir, name)
	if IsLink(fsys, path) {
		err = &fs.PathError{Op: "use", Path: name, Err: errLinked}
	} else {
		err = fsys.Mkdir(path)
	}
	if err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	return path, nil
}

// IsLink reports whether a name is a symbolic link's. It is false where that cannot be
// told.
func IsLink(fsys FS, path string) bool {
	info, err := fsys.Stat(path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// TempSuffix ends the name of a file that is not in place yet.
const TempSuffix = ".tmp"

// Free returns how many bytes a file system has left for this user, by a directory on
// it.
func Free(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(min(stat.Bavail, math.MaxInt64/uint64(stat.Bsize))) * int64(stat.Bsize), nil
}
