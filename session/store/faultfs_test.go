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

// errCrashed is the error of every call after a simulated crash.
var errCrashed = errors.New("the process is gone")

// faultFS wraps a file system. It injects errors and counts every call, so that a
// test can fail each call in turn.
type faultFS struct {
	store.FS

	mu    sync.Mutex
	calls int
	// fault decides about each call; nil lets it pass. A failed write has written
	// half of its bytes.
	fault func(call int, op, name string) error
	extra func(op, name string) error // of the story, in addition to fault
	dead  bool
	log   []call
	holds map[string]func()
}

// call is one call of a faultFS.
type call struct {
	op, name string
	failed   bool
}

// changes reports whether the call changes what is on the device or what survives a
// power cut.
func (c call) changes() bool {
	switch c.op {
	case "open", "read", "readfile", "readdir", "stat", "lock":
		return false
	}
	return true
}

// step names the call by its effect.
func (c call) step() string { return stepOf(c.op, c.name) }

// errHalf stops a write half way.
var errHalf = errors.New("half of a write")

// hold runs before ahead of every call of one kind.
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
	f.log = append(f.log, call{op: op, name: name})
	var err error
	if f.fault != nil {
		err = f.fault(f.calls, op, name)
	}
	if err == nil && f.extra != nil {
		err = f.extra(op, name)
	}
	if errors.Is(err, errCrashed) {
		f.dead = true
	}
	if err != nil {
		f.log[len(f.log)-1].failed = true
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// set replaces fault.
func (f *faultFS) set(fault func(call int, op, name string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// died reports whether the simulated process has crashed.
func (f *faultFS) died() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// also makes calls fail in addition to set.
func (f *faultFS) also(fails func(op, name string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extra = fails
}

// trace returns every call so far.
func (f *faultFS) trace() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]call(nil), f.log...)
}

// lines prints the trace.
func (f *faultFS) lines() string {
	text := ""
	for i, c := range f.trace() {
		text += fmt.Sprintf("%d %s %s", i+1, c.op, c.name)
		if c.failed {
			text += " FAILS"
		}
		text += "\n"
	}
	return text
}

// forget clears the trace and the count.
func (f *faultFS) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.log = 0, nil
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

// nthOf fails the n-th call of one kind on a file whose name contains part, once.
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

// Born passes through and never fails: the store treats an error like a missing
// birth time.
func (f *faultFS) Born(name string) (string, error) {
	d, ok := f.FS.(interface{ Born(string) (string, error) })
	if !ok {
		return "", nil
	}
	return d.Born(name)
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
	if err := f.fs.step("write", f.name); errors.Is(err, errCrashed) {
		return 0, err // the process died before
	} else if err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off)
		if errors.Is(err, errHalf) {
			err = nil
		}
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
		if lies, ok := f.File.(*memFile); ok && errors.Is(err, syscall.EIO) {
			lies.failSync()
		}
		return err
	}
	return f.File.Datasync()
}

func (f *faultFile) Stat() (fs.FileInfo, error) {
	if err := f.fs.step("stat", f.name); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultFile) TryLock() (bool, error) {
	if err := f.fs.step("lock", f.name); err != nil {
		return false, err
	}
	return f.File.TryLock()
}
