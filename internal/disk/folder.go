package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Folder is the small files of one directory, by name. A name has no directory.
type Folder struct {
	// FS is the file system; nil is the real one.
	FS  FS
	Dir string
	// Shared says that several programs replace the files at once.
	Shared bool
}

func (f Folder) fs() FS {
	if f.FS == nil {
		return OS()
	}
	return f.FS
}

func (f Folder) path(name string) string { return filepath.Join(f.Dir, name) }

// Read returns a file. fs.ErrNotExist if there is none, ErrNoFile if a pipe, directory
// or device is in its place, which is not waited for.
func (f Folder) Read(name string) ([]byte, error) { return f.fs().ReadFile(f.path(name)) }

// Replace stores what fill writes as a whole file: see the function Replace. It
// buffers a few KiB of it.
func (f Folder) Replace(name string, fill func(io.Writer) error) error {
	if f.Shared {
		return replaceAmong(f.fs(), f.path(name), fill)
	}
	return ReplaceWith(f.fs(), f.path(name), func(_ string, w io.Writer) error { return fill(w) })
}

// Append adds bytes to the end of a file and makes them durable. After an error or a
// crash a part of them may be there.
func (f Folder) Append(name string, data []byte) error {
	path := f.path(name)
	file, err := f.fs().OpenRW(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = f.fs().Create(path)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	size, err := Size(file)
	if err == nil {
		err = WriteAll(file, data, size)
	}
	if err == nil {
		err = file.Datasync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.fs().SyncDir(f.Dir)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	return nil
}

// SetAside renames a file that its reader cannot use to aside, which may begin with a
// folder. A pipe or the like in its place, which has no bytes to keep, is removed, and
// kept is false.
func (f Folder) SetAside(name, aside string) (kept bool, err error) {
	path := f.path(name)
	if info, err := f.fs().Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		if err := f.fs().Remove(path); err != nil {
			return false, fmt.Errorf("remove %s, which is no file: %w", name, err)
		}
		return false, nil
	}
	if folder := filepath.Dir(aside); folder != "." {
		if _, err := MakeFolder(f.fs(), f.Dir, folder); err != nil {
			return false, fmt.Errorf("set damaged %s aside: %w", name, err)
		}
	}
	if err := f.fs().Rename(path, f.path(aside)); err != nil {
		return false, fmt.Errorf("set damaged %s aside: %w", name, err)
	}
	return true, nil
}
