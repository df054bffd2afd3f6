package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
)

// Derived is a directory of files computed from logs. Each may be missing, old or
// damaged at any time: its reader checks it and computes it again.
type Derived struct {
	fs  FS
	dir string
}

// Read returns a file. fs.ErrNotExist if there is none.
func (d Derived) Read(name string) ([]byte, error) {
	return d.fs.ReadFile(filepath.Join(d.dir, name))
}

// Write replaces a file: after a crash it has the old bytes or the new ones. It is
// not safe for concurrent use with the same name.
func (d Derived) Write(name string, data []byte) error {
	path := filepath.Join(d.dir, name)
	err := disk.Replace(d.fs, path, data)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.fs.Mkdir(d.dir); err == nil {
			err = disk.Replace(d.fs, path, data)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s/%s: %w", derivedDir, name, err)
	}
	return nil
}

// Remove removes files, or without names the directory and all files in it.
func (d Derived) Remove(names ...string) error {
	if len(names) == 0 {
		return d.fs.RemoveAll(d.dir)
	}
	for _, name := range names {
		if err := d.fs.Remove(filepath.Join(d.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
