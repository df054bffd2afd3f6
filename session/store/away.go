package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/journal"
)

// away returns an error if a session's directory is missing, or if that cannot be
// determined.
func away(fsys FS, dir string) error {
	_, err := fsys.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if all := allAway(fsys, filepath.Dir(dir)); all != nil {
		return all
	}
	return gone(err)
}

// allAway returns an error if the directory of all sessions is missing.
func allAway(fsys FS, root string) error {
	if _, err := fsys.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", journal.ErrAllAway, err)
	}
	return nil
}
