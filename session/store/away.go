package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Absence says whether the directory of a log is missing.
type Absence string

const (
	// Away means that the session's directory is missing.
	Away Absence = "away"
	// AllAway means that the directory of all sessions is missing.
	AllAway Absence = "all away"
	// Returned means that the directory was missing and is back: reopen the log.
	Returned Absence = "returned"
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
		return fmt.Errorf("%w: %w", errAllAway, err)
	}
	return nil
}

// AbsenceOf returns which directory an ErrAway is about.
func AbsenceOf(err error) Absence {
	switch {
	case errors.Is(err, errAllAway):
		return AllAway
	case errors.Is(err, ErrAway):
		return Away
	}
	return ""
}
