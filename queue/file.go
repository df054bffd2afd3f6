package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
)

const (
	fileName      = "queue.json"
	tempName      = fileName + ".tmp"
	quarantineDir = "quarantine"
	format        = 1
)

// contents are the contents of the file.
type contents struct {
	Format int    `json:"format"`
	LogSeq int64  `json:"log_seq"`
	Items  []Item `json:"items"`
	Ledger ledger `json:"ledger"`
}

// file is queue.json in its directory. Only one process writes it: the one with the
// lock of the data directory.
type file struct {
	dir string
	// failpoint is called before each step of a save; tests make it fail.
	failpoint func(step string) error
}

// load reads the file. If it is missing the error is fs.ErrNotExist, if it is
// unreadable a *jsonfile.DamagedError.
func (f file) load() (contents, error) {
	// An incomplete save of a crash was never acknowledged.
	if err := os.Remove(filepath.Join(f.dir, tempName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return contents{}, fmt.Errorf("remove stale %s: %w", tempName, err)
	}
	return f.read()
}

// read is load without changing the directory.
func (f file) read() (contents, error) {
	return f.json().Load()
}

// json is the file. Open and Repair move a damaged one into the quarantine.
func (f file) json() jsonfile.File[contents] {
	return jsonfile.File[contents]{FS: stepped{disk.OS(), f.step}, Path: filepath.Join(f.dir, fileName), Check: contents.validate}
}

func (c contents) validate() error {
	if err := jsonfile.Format(c.Format, format); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, item := range c.Items {
		if item.PromptID == "" {
			return errors.New("an item without a prompt_id")
		}
		if seen[item.PromptID] {
			return fmt.Errorf("item %q is there twice", item.PromptID)
		}
		seen[item.PromptID] = true
	}
	for _, e := range c.Ledger {
		if e.PromptID == "" {
			return errors.New("a ledger entry without a prompt_id")
		}
		if e.Outcome != Received && e.Outcome != Removed && e.Outcome != Interrupted {
			return fmt.Errorf("prompt %q has the unknown outcome %q", e.PromptID, e.Outcome)
		}
	}
	return nil
}

// setAside moves a damaged file into the quarantine and returns its new name. It
// removes a pipe or similar, which has no bytes to keep, and returns an empty name.
func (f file) setAside(now time.Time) (string, error) {
	if info, err := os.Lstat(filepath.Join(f.dir, fileName)); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		if err := os.Remove(filepath.Join(f.dir, fileName)); err != nil {
			return "", fmt.Errorf("remove %s, which is not a file: %w", fileName, err)
		}
		return "", nil
	}
	dir := filepath.Join(f.dir, quarantineDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make quarantine: %w", err)
	}
	stamp := now.UTC().Format("20060102T150405.000000000")
	aside := filepath.Join(dir, "queue-"+stamp+".json")
	if err := os.Rename(filepath.Join(f.dir, fileName), aside); err != nil {
		return "", fmt.Errorf("set damaged %s aside: %w", fileName, err)
	}
	return aside, nil
}

// save replaces the file. When it returns nil the new contents are on the device.
// After an error, landed says whether a reader now finds the new contents (which a
// power cut may still lose) or the old ones.
func (f file) save(c contents) (landed bool, err error) {
	c.Format = format
	if err := f.json().Write(c); err != nil {
		return errors.Is(err, disk.ErrNotDurable), err
	}
	return true, nil
}

// stepped is a file system whose steps can fail on demand.
type stepped struct {
	disk.FS
	step func(name string) error
}

// Create implements disk.FS.
func (s stepped) Create(name string) (disk.File, error) {
	if err := s.step("create"); err != nil {
		return nil, err
	}
	f, err := s.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return steppedFile{f, s.step}, nil
}

// Rename implements disk.FS.
func (s stepped) Rename(from, to string) error {
	if err := s.step("rename"); err != nil {
		return err
	}
	return s.FS.Rename(from, to)
}

// SyncDir implements disk.FS.
func (s stepped) SyncDir(name string) error {
	if err := s.step("sync-dir"); err != nil {
		return err
	}
	return s.FS.SyncDir(name)
}

// steppedFile is a file of stepped.
type steppedFile struct {
	disk.File
	step func(name string) error
}

// WriteAt implements disk.File.
func (f steppedFile) WriteAt(data []byte, at int64) (int, error) {
	if err := f.step("write"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(data, at)
}

// Datasync implements disk.File.
func (f steppedFile) Datasync() error {
	if err := f.step("sync"); err != nil {
		return err
	}
	return f.File.Datasync()
}

func (f file) step(name string) error {
	if f.failpoint == nil {
		return nil
	}
	return f.failpoint(name)
}
