package session_test

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/journal"
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

func (f steppedFS) Mkdir(name string) error {
	if err := f.step("mkdir " + filepath.Base(name)); err != nil {
		return err
	}
	return f.FS.Mkdir(name)
}

func (f steppedFS) Remove(name string) error {
	if err := f.step("remove " + filepath.Base(name)); err != nil {
		return err
	}
	return f.FS.Remove(name)
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

// aroundQueueFile has around called for each save of a session's queue, in place of
// the save.
func aroundQueueFile(around func(replace func() error) error) hubOption {
	return func(o *session.Options, _ *store.Options) { o.Store = &wrappedStore{around: around} }
}

// wrappedStore is a journal with another way to save the queue, and that tells which sessions
// are measured.
type wrappedStore struct {
	journal.Store
	around  func(replace func() error) error
	measure func(id string) // nil tells nothing
}

func (s *wrappedStore) Sizes(id string) (journal.Sizes, error) {
	if s.measure != nil {
		s.measure(id)
	}
	return s.Store.Sizes(id)
}

func (s *wrappedStore) Lease(ctx context.Context, id string) (journal.Lease, error) {
	lease, err := s.Store.Lease(ctx, id)
	return wrappedLease{lease, s}, err
}

type wrappedLease struct {
	journal.Lease
	store *wrappedStore
}

func (l wrappedLease) Log(ctx context.Context) (journal.Log, error) {
	log, err := l.Lease.Log(ctx)
	return wrappedLog{log, l.store}, err
}

type wrappedLog struct {
	journal.Log
	store *wrappedStore
}

func (l wrappedLog) Files() journal.Files { return wrappedFiles{l.Log.Files(), l.store} }

type wrappedFiles struct {
	journal.Files
	store *wrappedStore
}

func (f wrappedFiles) Replace(name string, fill func(io.Writer) error) error {
	replace := func() error { return f.Files.Replace(name, fill) }
	if name != queue.FileName {
		return replace()
	}
	return f.store.around(replace)
}
