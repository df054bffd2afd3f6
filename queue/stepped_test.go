package queue_test

import (
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/queue"
)

// in are the files of a directory.
func in(dir string) queue.Files { return disk.Folder{Dir: dir} }

// stepping are the files of a directory. step is called before each step of a save
// with its name: create, write, sync, rename, sync-dir; and archive, which stores the
// entries that no longer fit into the ledger. An error makes the step fail.
func stepping(dir string, step func(string) error) queue.Files {
	if step == nil {
		return in(dir)
	}
	return disk.Folder{Dir: dir, FS: stepped{disk.OS(), step}}
}

type stepped struct {
	disk.FS
	step func(name string) error
}

func (s stepped) OpenRW(name string) (disk.File, error) {
	if filepath.Base(name) == "ledger.jsonl" {
		if err := s.step("archive"); err != nil {
			return nil, err
		}
	}
	return s.FS.OpenRW(name)
}

func (s stepped) Create(name string) (disk.File, error) {
	if filepath.Base(name) != "queue.json.tmp" {
		return s.FS.Create(name)
	}
	if err := s.step("create"); err != nil {
		return nil, err
	}
	f, err := s.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return steppedFile{f, s.step}, nil
}

func (s stepped) Rename(from, to string) error {
	if err := s.step("rename"); err != nil {
		return err
	}
	return s.FS.Rename(from, to)
}

func (s stepped) SyncDir(name string) error {
	if err := s.step("sync-dir"); err != nil {
		return err
	}
	return s.FS.SyncDir(name)
}

type steppedFile struct {
	disk.File
	step func(name string) error
}

func (f steppedFile) WriteAt(data []byte, at int64) (int, error) {
	if err := f.step("write"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(data, at)
}

func (f steppedFile) Datasync() error {
	if err := f.step("sync"); err != nil {
		return err
	}
	return f.File.Datasync()
}
