package blobs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxStale limits the uploads listed at once.
const maxStale = 1000

// StaleUploads lists blobs that were uploaded before a time and are not known to be
// named by the log: at most 1,000, by their SHA-256. With only, it checks just
// those.
func (s *Folder) StaleUploads(before time.Time, only []string) ([]string, error) {
	byBlob, err := s.uploads()
	if err != nil {
		return nil, err
	}
	if only == nil {
		only = slices.Sorted(maps.Keys(byBlob))
	}
	fresh := func(path string) bool {
		r, err := s.uploadRecord(path)
		return err != nil || r.kept() || r.UploadedAt.After(before)
	}
	var stale []string
	for _, sha := range only {
		if paths := byBlob[sha]; len(paths) > 0 && len(stale) < maxStale && !slices.ContainsFunc(paths, fresh) {
			stale = append(stale, sha)
		}
	}
	return stale, nil
}

// NameUploads records that uploaded blobs are needed: they never become stale.
func (s *Folder) NameUploads(shas []string) error {
	s.records.Lock()
	defer s.records.Unlock()
	byBlob, err := s.uploads()
	for _, sha := range shas {
		for _, path := range byBlob[sha] {
			r, readErr := s.uploadRecord(path)
			if readErr == nil {
				r.Named = true
				readErr = s.keepUpload(path, r)
			}
			err = errors.Join(err, readErr)
		}
	}
	return err
}

// RemoveUploads removes uploaded blobs and their records. No event may name them.
func (s *Folder) RemoveUploads(shas []string) error {
	byBlob, err := s.uploads()
	if err != nil {
		return err
	}
	dir := s.dir
	for _, sha := range shas {
		// A crash in between leaves records without a blob, which become stale
		// again.
		for _, path := range append([]string{filepath.Join(dir, sha)}, byBlob[sha]...) {
			if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove upload: %w", err)
			}
		}
	}
	return s.fs.SyncDir(dir)
}

// uploads returns the paths of the upload records by blob.
func (s *Folder) uploads() (map[string][]string, error) {
	dir := s.dir
	names, err := s.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list uploads: %w", err)
	}
	byBlob := map[string][]string{}
	for _, n := range names {
		sha, _, noted := strings.Cut(n.Name(), ".")
		if noted && len(sha) == 2*sha256.Size {
			byBlob[sha] = append(byBlob[sha], filepath.Join(dir, n.Name()))
		}
	}
	return byBlob, nil
}
