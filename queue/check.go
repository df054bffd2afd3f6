package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/abidehub/abide/internal/jsonfile"
)

// FileName is the name of a queue's file among the files of its session.
const FileName = fileName

// Check returns why the file of a session's queue is unreadable, for a person and
// without a path; nil if it is readable or missing. It changes nothing. If damaged
// is true, Repair helps.
func Check(files Files) (damaged bool, err error) {
	_, err = jsonFile(files).Load()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return jsonfile.IsDamaged(err), err
}

// Repair moves an unreadable file into the quarantine, like Open. It writes an
// empty queue in its place, so that the next Open does not report the damage again.
// It returns its actions, if any. No hub may run.
func Repair(files Files) (did string, err error) {
	damaged, why := Check(files)
	if !damaged {
		return "", why
	}
	aside, err := setAside(files, time.Now())
	if err != nil {
		return "", err
	}
	if _, err := save(files, contents{}); err != nil {
		return "", fmt.Errorf("the damaged %s is aside; starting over: %w", fileName, err)
	}
	if aside == "" {
		return fmt.Sprintf("removed %s, which was no file", fileName), nil
	}
	return fmt.Sprintf("moved %s to %s: %v; prompts that waited are lost", fileName, aside, why), nil
}
