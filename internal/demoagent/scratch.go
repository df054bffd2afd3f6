package demoagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	scratchPrefix = "abide-demo-"

	scratchFiles = 200
	scratchBytes = 1 << 20
)

// scratch is a copy of the workspace that the script may change. Its folder is
// locked as long as its agent lives, so that the folder of a killed agent is told
// from one in use.
type scratch struct {
	dir  string
	lock *os.File
}

// open makes the copy once, of at most 200 files and 1 MiB: enough to show. Folders
// of build output are left out.
func (s *scratch) open(workspace string) (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	removeStale()
	dir, lock, err := lockedFolder()
	if err != nil {
		return "", fmt.Errorf("make scratch copy: %w", err)
	}
	files, bytes := 0, int64(0)
	err = filepath.WalkDir(workspace, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable files are not shown
		}
		rel, err := filepath.Rel(workspace, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch entry.Name() {
			case ".git", "node_modules", "vendor", "dist", "target", ".cache":
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, rel), 0o700)
		}
		info, err := entry.Info()
		if err != nil || !entry.Type().IsRegular() || bytes+info.Size() > scratchBytes {
			return nil
		}
		if files++; files > scratchFiles {
			return fs.SkipAll
		}
		bytes += info.Size()
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		return os.WriteFile(filepath.Join(dir, rel), data, 0o600)
	})
	if err != nil {
		os.RemoveAll(dir)
		lock.Close()
		return "", fmt.Errorf("copy %s: %w", workspace, err)
	}
	s.dir, s.lock = dir, lock
	return dir, nil
}

func (s *scratch) remove() {
	if s.dir != "" {
		os.RemoveAll(s.dir)
		s.lock.Close()
		s.dir, s.lock = "", nil
	}
}

// lockedFolder makes a folder that removeStale leaves alone until the file is
// closed. Another agent may have taken it for stale before it was locked: then
// it is made again.
func lockedFolder() (string, *os.File, error) {
	for {
		dir, err := os.MkdirTemp("", scratchPrefix)
		if err != nil {
			return "", nil, err
		}
		lock, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			lock.Close()
			return "", nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			return dir, lock, nil
		}
		lock.Close()
	}
}

// removeStale removes the folders of agents that were killed. Folders that cannot
// be removed, or belong to another user, stay.
func removeStale() {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchPrefix+"*"))
	for _, dir := range found {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue // a link leads out of here
		}
		lock, err := os.Open(dir)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(dir)
		}
		lock.Close()
	}
}
