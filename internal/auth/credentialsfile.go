package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/abidehub/abide/internal/bell"
)

const (
	recordFile = "auth.json"
	lockFile   = "auth.lock"

	// noticeEvery is how soon a change made by another process is seen.
	noticeEvery = 500 * time.Millisecond
	// maxEnded bounds how many ended cookies are remembered.
	maxEnded = 256
)

// credentialsFile is the file with the record of credentials, and the record last
// read from it. Each change is made to the file's newest content under its lock.
type credentialsFile struct {
	dir    string
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	current  *record     // never changed in place
	version  os.FileInfo // of the file current was read from
	changed  bell.Bell
	outdated []string // hashes of device cookies that ended in this run, oldest first
}

// open reads the file, and makes it where there is none.
func (f *credentialsFile) open() error {
	// Opening through a change restores the file's mode if it was loosened.
	err := f.update(func(*record) error { return nil })
	if errors.Is(err, ErrNoSpace) {
		return f.openAsItIs(err)
	}
	return err
}

// known is the record that was read last.
func (f *credentialsFile) known() *record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// ended reports whether the device cookie with this hash ended in this run.
func (f *credentialsFile) ended(hash string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.outdated, func(old string) bool { return sameHash(old, hash) })
}

// openAsItIs takes the file as it is where there is no space to write it again, so
// that holders of credentials can still come in. Without a file the error is why.
func (f *credentialsFile) openAsItIs(why error) error {
	path := filepath.Join(f.dir, recordFile)
	rec, version, err := readRecord(path)
	if err != nil {
		return err
	}
	if rec == nil {
		return why
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("keeping credentials from others: %w", err)
	}
	f.logger.Warn("no space to write credentials: existing ones stay valid, and none can be created or revoked", "err", why)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.install(rec, version)
	return nil
}

// newest returns the record, read again if the file is not the one it came from. A
// file that cannot be read leaves the old record in force. This admits no one new,
// and a person who can break the file could change it as well.
func (f *credentialsFile) newest() *record {
	path := filepath.Join(f.dir, recordFile)
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil || sameVersion(info, f.version) {
		return f.current
	}
	rec, version, err := readRecord(path)
	if err != nil || rec == nil {
		// Remembered, so that a broken file is reported once and not at every look.
		f.version = info
		f.logger.Error("credentials not reloaded, the old ones stay", "err", err)
		return f.current
	}
	f.install(rec, version)
	return f.current
}

// install is called with mu held.
func (f *credentialsFile) install(rec *record, version os.FileInfo) {
	if f.current != nil {
		for _, old := range f.current.Devices {
			if !slices.ContainsFunc(rec.Devices, func(g grantRecord) bool { return g.Hash == old.Hash }) {
				f.outdated = append(f.outdated, old.Hash)
			}
		}
		f.outdated = f.outdated[max(0, len(f.outdated)-maxEnded):]
	}
	f.current, f.version = rec, version
	f.changed.Ring()
}

// update changes the file's newest content under its lock.
func (f *credentialsFile) update(change func(next *record) error) error {
	lock := flock.New(filepath.Join(f.dir, lockFile), flock.SetPermissions(0o600))
	// The lock is held for one small write, so waiting for it is short.
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("locking credentials: %w", err)
	}
	defer lock.Close()
	path := filepath.Join(f.dir, recordFile)
	rec, _, err := readRecord(path)
	if err != nil {
		return err
	}
	if rec == nil {
		rec = &record{Format: recordFormat, Secret: make([]byte, 32)}
		rand.Read(rec.Secret)
	}
	rec = rec.clone()
	rec.prune(f.now())
	if err := change(rec); err != nil {
		return err
	}
	version, err := writeRecord(path, rec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.install(rec, version)
	return nil
}

// watch notices changes of the file by other processes, within half a second, until
// ctx ends. It looks rather than being told: a look is one stat, and works on every
// file system.
func (f *credentialsFile) watch(ctx context.Context) error {
	tick := time.NewTicker(noticeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			f.newest()
		}
	}
}

// sameVersion tells whether two looks saw the same file: a replaced file has
// another inode, an edited one another time or size.
func sameVersion(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
