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

	// noticeEvery is how often changes by another process are looked for.
	noticeEvery = 500 * time.Millisecond
	// maxEnded limits the ended cookies that are remembered.
	maxEnded = 256
)

// credentialsFile is auth.json and the record last read from it. Each change is
// made to the file's newest content under its lock.
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

// open reads the file, and creates it if it is missing.
func (f *credentialsFile) open() error {
	// Opening with a change restores the file's mode.
	err := f.update(func(*record) error { return nil })
	if errors.Is(err, ErrNoSpace) {
		return f.openAsItIs(err)
	}
	return err
}

// known returns the last record read.
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

// openAsItIs uses the file unchanged if there is no space to write it, so that
// existing credentials still work. Without a file it returns the error.
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

// newest returns the record, and reads it again if the file has changed. If the
// file is unreadable, the old record stays valid. This admits no new credential,
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
		// Remember the version, so that a broken file is logged once.
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

// watch detects changes by other processes within half a second, until ctx ends. It
// polls, because a poll is one stat and works on every file system.
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

// sameVersion reports whether two stats are of the same version: a replaced file
// has another inode, an edited one another time or size.
func sameVersion(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
