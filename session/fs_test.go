package session_test

import (
	"path/filepath"
	"time"

	"github.com/abidehub/abide/session/store"
)

const tick = 2 * time.Millisecond

// steppedFS is a file system that calls a function before each modification. An
// error from it prevents the modification.
type steppedFS struct {
	store.FS
	step func(string) error
}

func (f steppedFS) file(file store.File, name string, err error) (store.File, error) {
	if err != nil {
		return nil, err
	}
	return steppedFile{file, filepath.Base(name), f.step}, nil
}

func (f steppedFS) OpenRW(name string) (store.File, error) {
	file, err := f.FS.OpenRW(name)
	return f.file(file, name, err)
}

func (f steppedFS) Create(name string) (store.File, error) {
	if err := f.step("create " + filepath.Base(name)); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return f.file(file, name, err)
}

func (f steppedFS) Rename(from, to string) error {
	if err := f.step("rename to " + filepath.Base(to)); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f steppedFS) SyncDir(name string) error {
	if err := f.step("sync directory"); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f steppedFS) Means(name string, file store.File) (bool, error) {
	if s, ok := file.(steppedFile); ok {
		file = s.File
	}
	return f.FS.Means(name, file)
}

type steppedFile struct {
	store.File
	name string
	step func(string) error
}

func (f steppedFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.step("write " + f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f steppedFile) Datasync() error {
	if err := f.step("sync " + f.name); err != nil {
		return err
	}
	return f.File.Datasync()
}
