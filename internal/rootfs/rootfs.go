// Package rootfs opens files below a folder safely: no link leads out of the folder,
// the other end of a named pipe is not waited for, and no other kind of file is taken
// for the folder.
package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Below returns path relative to dir, and whether it is dir or below it. Only the
// texts are compared: resolve the links of both first where a link could lie.
func Below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// Holds reports whether path is dir or below it, as Below does.
func Holds(dir, path string) bool {
	_, ok := Below(dir, path)
	return ok
}

// Local cleans a path that a client names relative to a folder, and reports whether
// its text stays in the folder. Empty is the folder itself.
func Local(path string) (clean string, ok bool) {
	if path == "" {
		return ".", true
	}
	if strings.ContainsRune(path, 0) || !filepath.IsLocal(path) {
		return "", false
	}
	return filepath.Clean(path), true
}

// ErrNotRegular refuses a pipe, a socket or a device where a file is expected.
var ErrNotRegular = errors.New("it is not a regular file")

// Folder is an open folder. It stays the same one if its path comes to mean another.
// It is safe for concurrent use; Close it.
type Folder struct{ *os.Root }

// Open opens a folder.
func Open(path string) (Folder, error) {
	// The slash refuses another kind of file: opening a pipe would wait.
	root, err := os.OpenRoot(path + "/")
	return Folder{root}, err
}

// Open opens a file or folder below for reading.
func (f Folder) Open(name string) (*os.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile is os.Root's, but does not wait for the other end of a pipe: without a
// reader, opening one for writing is ENXIO.
func (f Folder) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return f.Root.OpenFile(name, flag|syscall.O_NONBLOCK, mode)
}

// OpenFolder opens a folder below.
func (f Folder) OpenFolder(name string) (Folder, error) {
	root, err := f.OpenRoot(name + "/")
	return Folder{root}, err
}

// OpenRegular opens a file below for reading. A folder is EISDIR, anything else that
// is no file ErrNotRegular.
func (f Folder) OpenRegular(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = syscall.EISDIR
	case !info.Mode().IsRegular():
		err = ErrNotRegular
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("open %s: %w", name, err)
	}
	return file, info, nil
}

// RealPath is where an open file is. root and name are how it was opened.
func RealPath(file *os.File, root, name string) (string, error) {
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err == nil && filepath.IsAbs(path) {
		return strings.TrimSuffix(path, " (deleted)"), nil
	}
	return filepath.EvalSymlinks(filepath.Join(root, name))
}
