package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// FileName is the name of a queue's file in the directory of its session.
const FileName = fileName

// Check says why the file of a session's queue cannot be understood, in words for a
// person that name no path; nil if it can, or if there is none. It changes nothing.
// Repair helps if damaged is true.
func Check(dir string) (damaged bool, err error) {
	_, err = file{dir: dir}.read()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var d *damagedError
	return errors.As(err, &d), err
}

// Repair moves an unreadable file into the quarantine, as Open does. An empty one
// takes its place, so that the next Open does not report it again. It reports its
// actions; empty is nothing. No hub may run.
func Repair(dir string) (did string, err error) {
	damaged, why := Check(dir)
	if !damaged {
		return "", why
	}
	f := file{dir: dir}
	aside, err := f.setAside(time.Now())
	if err != nil {
		return "", err
	}
	if _, err := f.save(contents{}); err != nil {
		return "", fmt.Errorf("the damaged %s is aside; starting over: %w", fileName, err)
	}
	if aside == "" {
		return fmt.Sprintf("removed %s, which was no file", fileName), nil
	}
	return fmt.Sprintf("moved %s to %s: %v; prompts that waited are lost", fileName, filepath.Join(quarantineDir, filepath.Base(aside)), why), nil
}
