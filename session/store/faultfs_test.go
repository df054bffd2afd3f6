package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/abidehub/abide/session/store"
)

// errCrashed is what every call gets after the process "died".
var errCrashed = errors.New("the process is gone")

// faultFS stands before a file system and fails its calls on demand. It counts
// every call, so a test can walk through all of them.
type faultFS struct {
	store.FS

	mu    sync.Mutex
	calls int
	// fault decides about each call; nil lets it pass. A write that fails has
	// written half of its bytes.
	fault func(call int, op, name string) error
	dead  bool
	log   []string
	holds map[string]func()
}

// hold calls before ahead of every call of one kind.
func (f *faultFS) hold(op string, before func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds == nil {
		f.holds = map[string]func(){}
	}
	f.holds[op] = before
}

func (f *faultFS) step(op, name string) error {
	f.mu.Lock()
	before := f.holds[op]
	f.mu.Unlock()
	if before != nil {
		before()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errCrashed
	}
	f.calls++
	f.log = append(f.log, fmt.Sprintf("%d %s %s", f.calls, op, name))
	if f.fault == nil {
		return nil
	}
	err := f.fault(f.calls, op, name)
	if errors.Is(err, errCrashed) {
		f.dead = true
	}
	if err != nil {
		f.log[len(f.log)-1] += " FAILS"
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// set changes what fails from now on.
func (f *faultFS) set(fault func(call int, op, name string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *faultFS) trace() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.log...)
}

func (f *faultFS) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// nth fails the n-th call, once.
func nth(n int, err error) func(int, string, string) error {
	return func(call int, _, _ string) error {
		if call == n {
			return err
		}
		return nil
	}
}

// nthOf fails the n-th call of one kind for a file whose name has a part, once.
func nthOf(n int, kind, part string, err error) func(int, string, string) error {
	seen := 0
	return func(_ int, op, name string) error {
		if op != kind || !strings.Contains(filepath.Base(name), part) {
			return nil
		}
		if seen++; seen == n {
			return err
		}
		return nil
	}
}

// fullFrom is a device that is full from the n-th call on, for a while.
func fullFrom(n, calls int) func(int, string, string) error {
	return func(call int, op, name string) error {
		if call >= n && call < n+calls && (op == "create" || op == "write" || op == "mkdir") {
			return syscall.ENOSPC
		}
		return nil
	}
}

func (f *faultFS) wrap(file store.File, err error, name string) (store.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultFile{File: file, fs: f, name: name}, nil
}

func (f *faultFS) Open(name string) (store.File, error) {
	if err := f.step("open", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name)
	return f.wrap(file, err, name)
}

func (f *faultFS) OpenRW(name string) (store.File, error) {
	if err := f.step("open", name); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenRW(name)
	return f.wrap(file, err, name)
}

func (f *faultFS) Create(name string) (store.File, error) {
	if err := f.step("create", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return f.wrap(file, err, name)
}

func (f *faultFS) Mkdir(name string) error {
	if err := f.step("mkdir", name); err != nil {
		return err
	}
	return f.FS.Mkdir(name)
}

func (f *faultFS) ReadFile(name string) ([]byte, error) {
	if err := f.step("readfile", name); err != nil {
		return nil, err
	}
	return f.FS.ReadFile(name)
}

func (f *faultFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.step("readdir", name); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(name)
}

func (f *faultFS) Stat(name string) (fs.FileInfo, error) {
	if err := f.step("stat", name); err != nil {
		return nil, err
	}
	return f.FS.Stat(name)
}

func (f *faultFS) Rename(from, to string) error {
	if err := f.step("rename", from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *faultFS) Remove(name string) error {
	if err := f.step("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faultFS) RemoveAll(name string) error {
	if err := f.step("removeall", name); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

func (f *faultFS) SyncDir(name string) error {
	if err := f.step("syncdir", name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f *faultFS) Means(name string, file store.File) (bool, error) {
	if err := f.step("stat", name); err != nil {
		return false, err
	}
	return f.FS.Means(name, file.(*faultFile).File)
}

// faultFile is an open file of a faultFS.
type faultFile struct {
	store.File
	fs   *faultFS
	name string
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.step("read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.step("write", f.name); err == errCrashed {
		return 0, err // died before
	} else if err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.fs.step("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultFile) Datasync() error {
	if err := f.fs.step("datasync", f.name); err != nil {
		return err
	}
	return f.File.Datasync()
}
