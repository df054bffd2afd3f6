package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
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
// unreadable a *damagedError.
func (f file) load() (contents, error) {
	// An incomplete save of a crash was never acknowledged.
	if err := os.Remove(filepath.Join(f.dir, tempName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return contents{}, fmt.Errorf("remove stale %s: %w", tempName, err)
	}
	return f.read()
}

// read is load without changing the directory.
func (f file) read() (contents, error) {
	data, err := disk.OS().ReadFile(filepath.Join(f.dir, fileName))
	if errors.Is(err, disk.ErrNoFile) {
		return contents{}, &damagedError{fmt.Errorf("read %s: %w", fileName, disk.ErrNoFile)}
	}
	if err != nil {
		return contents{}, err
	}
	var c contents
	if err := json.Unmarshal(data, &c); err != nil {
		return contents{}, &damagedError{err}
	}
	if c.Format > format {
		return contents{}, fmt.Errorf("read %s: format %d is newer than this program's %d", fileName, c.Format, format)
	}
	if err := c.validate(); err != nil {
		return contents{}, &damagedError{err}
	}
	return c, nil
}

// damagedError says why a file is unreadable.
type damagedError struct{ cause error }

func (e *damagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", fileName, e.cause) }
func (e *damagedError) Unwrap() error { return e.cause }

func (c contents) validate() error {
	if c.Format < 1 {
		return errors.New("no format")
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
	data, err := json.Marshal(c)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", fileName, err)
	}
	if err := disk.Replace(stepped{disk.OS(), f.step}, filepath.Join(f.dir, fileName), data); err != nil {
		return errors.Is(err, disk.ErrNotDurable), fmt.Errorf("write %s: %w", fileName, err)
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
