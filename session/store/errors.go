package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
)

var (
	// errLocked means that another program holds the lock of a log's active file.
	errLocked = errors.New("another program has locked " + activeName)
	// errSymlink refuses a session behind a symbolic link, because its lock and
	// renames would affect another directory.
	errSymlink = errors.New(activeName + " is a symbolic link: put the file itself in its place")
	// errTaken means that the process has the last copy of a removed file: events
	// written now are lost when it ends.
	errTaken = errors.New("the log's file was removed or replaced while the hub had it open")
)

// LockedError means that another hub has the data directory.
type LockedError struct {
	// Dir is the data directory.
	Dir string
	// Holder is the other hub's text in the LOCK file, for people only.
	Holder string
}

// Error implements error.
func (e *LockedError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another hub"
	}
	return fmt.Sprintf("data directory %s is in use by %s", e.Dir, holder)
}

// isNoSpace reports whether an error means that there is no space, on the device or
// in the system's tables. Both end by themselves.
func isNoSpace(err error) bool {
	return disk.IsFull(err) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// withheld reports whether the system could not read an existing file, because of
// missing descriptors or memory, or a device error. This says nothing about the
// file's contents.
func withheld(err error) bool {
	var no syscall.Errno
	return errors.As(err, &no) && !errors.Is(no, fs.ErrNotExist)
}

// whatToDo adds the remedy to an error of a device that cannot read a session's
// file.
func whatToDo(id string, err error) error {
	var failed *fs.PathError
	if !errors.Is(err, syscall.EIO) || !errors.As(err, &failed) || !strings.HasPrefix(failed.Op, "read") {
		return err
	}
	name := filepath.Base(failed.Path)
	then := "put what can be read of it, or the file of a backup, in its place"
	if name == metadataName || name == labelsName {
		then = "take it away or put the file of a backup in its place"
	}
	return fmt.Errorf("%w; should that last, the device has a bad place: stop the hub, copy %s elsewhere, %s, and run: abide repair %s", err, name, then, id)
}

// gone is the error for a session without a directory.
func gone(err error) error { return fmt.Errorf("session %w: %w", journal.ErrAway, err) }

// missing is the message for a file that does not exist.
const missing = "it is missing"

// whyNoMetadata describes an unusable metadata.json or labels.json.
func whyNoMetadata(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	return err.Error()
}

// Errors of Copy.Append that callers test with errors.Is. Nothing was written.
var (
	// ErrCopyGap means that the first line is not the one after the copy's last: the
	// caller asks again, after Marks.Written.
	ErrCopyGap = errors.New("the line is not the next of the copy")
	// ErrCopyForeign means that the lines are of another session.
	ErrCopyForeign = errors.New("the line is of another session")
	// ErrCopyDamaged means that a line is not as a log stores it, or does not fit the
	// chain of the log's files.
	ErrCopyDamaged = errors.New("the line is damaged")
	// ErrCopyOnly refuses to change a copy otherwise.
	ErrCopyOnly = errors.New("a copy cannot be changed")
)
