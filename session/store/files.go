package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
)

// files implements journal.Files for the files of one directory.
type files struct {
	fs     FS
	dir    string
	refuse func() error // why nothing may be written now; nil if it may
}

// Read implements journal.Files.
func (f files) Read(name string) ([]byte, error) {
	return f.fs.ReadFile(filepath.Join(f.dir, name))
}

// Replace implements journal.Files.
func (f files) Replace(name string, data []byte) error {
	if err := f.refuse(); err != nil {
		return err
	}
	return disk.Replace(f.fs, filepath.Join(f.dir, name), data)
}

// Append implements journal.Files.
func (f files) Append(name string, data []byte) error {
	if err := f.refuse(); err != nil {
		return err
	}
	path := filepath.Join(f.dir, name)
	file, err := f.fs.OpenRW(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = f.fs.Create(path)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	size, err := disk.Size(file)
	if err == nil {
		err = disk.WriteAll(file, data, size)
	}
	if err == nil {
		err = file.Datasync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.fs.SyncDir(f.dir)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	return nil
}

// SetAside implements journal.Files.
func (f files) SetAside(name, aside string) (kept bool, err error) {
	if err := f.refuse(); err != nil {
		return false, err
	}
	path := filepath.Join(f.dir, name)
	if info, err := f.fs.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		if err := f.fs.Remove(path); err != nil {
			return false, fmt.Errorf("remove %s, which is no file: %w", name, err)
		}
		return false, nil
	}
	if folder := filepath.Dir(aside); folder != "." {
		if _, err := disk.MakeFolder(f.fs, f.dir, folder); err != nil {
			return false, fmt.Errorf("set damaged %s aside: %w", name, err)
		}
	}
	if err := f.fs.Rename(path, filepath.Join(f.dir, aside)); err != nil {
		return false, fmt.Errorf("set damaged %s aside: %w", name, err)
	}
	return true, nil
}
