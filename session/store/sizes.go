package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
	"github.com/abidehub/abide/session/store/packed"
)

// sizesIn measures the files in a session's directory.
func sizesIn(fsys FS, dir string) (sizes journal.Sizes, err error) {
	names, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = journal.ErrAway
	}
	if err != nil {
		return sizes, fmt.Errorf("measure %s: %w", dir, err)
	}
	for _, n := range names {
		to := &sizes.Other
		switch {
		case n.Name() == blobs.Dir:
			to = &sizes.Blobs
		case n.Name() == derivedDir:
			to = &sizes.Derived
		case strings.HasSuffix(strings.TrimSuffix(n.Name(), packed.Suffix), ".jsonl") && strings.HasPrefix(n.Name(), "events"):
			to = &sizes.Log
		}
		*to += sizeOf(fsys, dir, n)
	}
	return sizes, nil
}

// sizeOf counts the bytes of a file, or of a directory's files, as far as they can be read.
func sizeOf(fsys FS, dir string, n fs.DirEntry) (bytes int64) {
	if !n.IsDir() {
		info, err := n.Info()
		if err != nil {
			return 0
		}
		return info.Size()
	}
	dir = filepath.Join(dir, n.Name())
	names, _ := fsys.ReadDir(dir)
	for _, inside := range names {
		bytes += sizeOf(fsys, dir, inside)
	}
	return bytes
}
