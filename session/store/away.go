package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Absence says whether the directory of a log was taken away.
type Absence string

const (
	// Away says that the session's directory is gone.
	Away Absence = "away"
	// AllAway says that the directory of all sessions is gone.
	AllAway Absence = "all away"
	// Returned says that the directory was gone and is back: reopening is enough.
	Returned Absence = "returned"
)

// away says that a session's directory is gone, if it is, or why that cannot be told.
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

// allAway says that the directory of all sessions is gone, if it is.
func allAway(fsys FS, root string) error {
	if _, err := fsys.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errAllAway, err)
	}
	return nil
}

// AbsenceOf says which directory an ErrAway is about.
func AbsenceOf(err error) Absence {
	switch {
	case errors.Is(err, errAllAway):
		return AllAway
	case errors.Is(err, ErrAway):
		return Away
	}
	return ""
}
