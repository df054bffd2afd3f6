package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	fileName      = "queue.json"
	tempName      = fileName + ".tmp"
	quarantineDir = "quarantine"
	format        = 1
)

// contents is what the file holds.
type contents struct {
	Format int    `json:"format"`
	LogSeq int64  `json:"log_seq"`
	Items  []Item `json:"items"`
	Ledger ledger `json:"ledger"`
}

// file is queue.json in its directory. Only one process writes it: the one that
// holds the lock of the data directory.
type file struct {
	dir string
	// failpoint is called before each step of a save; tests make it fail.
	failpoint func(step string) error
}

// load reads the file. A missing one gives fs.ErrNotExist, one that cannot be
// understood an *damagedError.
func (f file) load() (contents, error) {
	// What a crash left of an unfinished save was never acknowledged.
	if err := os.Remove(filepath.Join(f.dir, tempName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return contents{}, fmt.Errorf("remove stale %s: %w", tempName, err)
	}
	return f.read()
}

// read is load without a change of the directory.
func (f file) read() (contents, error) {
	data, err := readRegular(filepath.Join(f.dir, fileName))
	if errors.Is(err, errNoFile) {
		return contents{}, &damagedError{err}
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

// errNoFile refuses a directory, a pipe or a device where a file must be.
var errNoFile = errors.New("it is no regular file")

// readRegular reads a file, and does not wait for a pipe that nobody may ever write to.
func readRegular(path string) (data []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), errNoFile)
	}
	return io.ReadAll(f)
}

// damagedError says why a file cannot be understood.
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

// setAside moves a damaged file into the quarantine and returns its new name; empty
// if it was a pipe, say, which has no bytes to keep and is removed.
func (f file) setAside(now time.Time) (string, error) {
	if info, err := os.Lstat(filepath.Join(f.dir, fileName)); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		if err := os.Remove(filepath.Join(f.dir, fileName)); err != nil {
			return "", fmt.Errorf("remove %s, which is no file: %w", fileName, err)
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

// save replaces the file. When it returns nil the new contents are on the
// device. After an error, landed says whether a reader now finds the new
// contents (they may still be lost by a power cut) or the old ones.
func (f file) save(c contents) (landed bool, err error) {
	c.Format = format
	data, err := json.Marshal(c)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", fileName, err)
	}
	temp, name := filepath.Join(f.dir, tempName), filepath.Join(f.dir, fileName)
	if err := f.writeTemp(temp, data); err != nil {
		return false, fmt.Errorf("write %s: %w", tempName, errors.Join(err, removeLeftover(temp)))
	}
	if err := f.step("rename"); err != nil {
		return false, err
	}
	if err := os.Rename(temp, name); err != nil {
		return false, fmt.Errorf("rename %s: %w", tempName, errors.Join(err, removeLeftover(temp)))
	}
	if err := f.syncDir(); err != nil {
		return true, fmt.Errorf("sync directory of %s: %w", fileName, err)
	}
	return true, nil
}

func (f file) writeTemp(temp string, data []byte) (err error) {
	if err := f.step("create"); err != nil {
		return err
	}
	w, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := f.step("write"); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := f.step("sync"); err != nil {
		return err
	}
	return w.Sync()
}

func (f file) syncDir() (err error) {
	if err := f.step("sync-dir"); err != nil {
		return err
	}
	d, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}

func (f file) step(name string) error {
	if f.failpoint == nil {
		return nil
	}
	return f.failpoint(name)
}

// removeLeftover frees the space of a temporary file that will not be renamed;
// on a full disk that is what lets the next save succeed.
func removeLeftover(temp string) error {
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
