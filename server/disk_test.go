package server_test

import (
	"path/filepath"
	"sync/atomic"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store"
)

// sickDisk is a file system that fails to write or to sync logs on command.
type sickDisk struct {
	store.FS
	write, sync atomic.Pointer[error]
}

func newSickDisk() *sickDisk { return &sickDisk{FS: store.OS()} }

func (d *sickDisk) file(f store.File, name string, err error) (store.File, error) {
	if err != nil {
		return f, err
	}
	switch filepath.Base(name) {
	case "events.jsonl", ".events-next.jsonl": // this file is renamed to events.jsonl
		return sickFile{f, d}, nil
	case "room" + disk.TempSuffix: // the log tries with this file whether the device has room again
		return sickFile{f, d}, nil
	}
	return f, nil
}

func (d *sickDisk) OpenRW(name string) (store.File, error) {
	f, err := d.FS.OpenRW(name)
	return d.file(f, name, err)
}

func (d *sickDisk) Create(name string) (store.File, error) {
	f, err := d.FS.Create(name)
	return d.file(f, name, err)
}

func (d *sickDisk) Means(name string, f store.File) (bool, error) {
	if s, ok := f.(sickFile); ok {
		f = s.File
	}
	return d.FS.Means(name, f)
}

type sickFile struct {
	store.File
	disk *sickDisk
}

func (f sickFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.disk.write.Load(); err != nil {
		return 0, *err
	}
	return f.File.WriteAt(p, off)
}

func (f sickFile) Datasync() error {
	if err := f.disk.sync.Load(); err != nil {
		return *err
	}
	return f.File.Datasync()
}
