package demoagent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	scratchFiles = 200
	scratchBytes = 1 << 20
)

// scratch is a copy of the workspace that the script may change.
type scratch struct{ dir string }

// open makes the copy once, of at most 200 files and 1 MiB: enough to show.
// Folders that hold what tools made are left out.
func (s *scratch) open(workspace string) (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	dir, err := os.MkdirTemp("", "abide-demo-")
	if err != nil {
		return "", fmt.Errorf("make scratch copy: %w", err)
	}
	files, bytes := 0, int64(0)
	err = filepath.WalkDir(workspace, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not shown
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
		return "", fmt.Errorf("copy %s: %w", workspace, err)
	}
	s.dir = dir
	return dir, nil
}

func (s *scratch) remove() {
	if s.dir != "" {
		os.RemoveAll(s.dir)
		s.dir = ""
	}
}
