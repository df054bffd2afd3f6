package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/blobs"
)

// Errors that callers test with errors.Is. Errors are wrapped around these with
// words for a person.
var (
	// ErrNotFound says there is no such session or blob.
	ErrNotFound = blobs.ErrNotFound
	// ErrInvalidID says an id is not of the form ids have.
	ErrInvalidID = errors.New("invalid session id")
	// ErrInvalid says an argument is wrong; trying again cannot help.
	ErrInvalid = errors.New("invalid")
	// ErrBlocked says the device is full. Nothing was written; the same call
	// may be made again later.
	ErrBlocked = errors.New("no space left to write the log")
	// ErrFrozen says the device failed to store written events. The log takes
	// nothing more until it is reopened; unacknowledged events are kept.
	ErrFrozen = errors.New("log is frozen after a device error")
	// ErrClosed says the log or the store was closed.
	ErrClosed = errors.New("log is closed")
	// errLocked says that another program has the lock of a log's active file.
	errLocked = errors.New("another program has locked " + activeName)
	// errSymlink refuses a log that lies elsewhere: its lock and its renames are
	// those of another directory.
	errSymlink = errors.New(activeName + " is a symbolic link: put the file itself in its place")
	// ErrRemoved says the events asked for were removed by retention.
	ErrRemoved = errors.New("events were removed")
	// ErrAway says that the session's directory, or that of all sessions, is gone.
	// Nothing is lost once it is back.
	ErrAway = errors.New("directory is gone")
	// errAllAway is the ErrAway of the directory of all sessions.
	errAllAway = fmt.Errorf("sessions' %w", ErrAway)
	// errTaken says that events written now are lost when the process ends, because
	// it has the last copy.
	errTaken = errors.New("the log's file was removed or replaced while the hub had it open")
	// ErrDamaged says the bytes on the device are not those that were written.
	ErrDamaged = blobs.ErrDamaged
	// ErrFormat says the data was written by a newer program.
	ErrFormat = errors.New("data is of a newer format")
)

// LockedError says that another hub has the data directory.
type LockedError struct {
	// Dir is the data directory.
	Dir string
	// Holder is the other hub's own text in the LOCK file. It is for people only.
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

// isNoSpace reports whether an error says that there is no space, on the device or
// in the system's tables: either ends by itself.
func isNoSpace(err error) bool {
	return disk.IsFull(err) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// withheld reports whether the system refused to read an existing file, out of
// descriptors or memory or because the device failed. That says nothing about the
// file's contents.
func withheld(err error) bool {
	var no syscall.Errno
	return errors.As(err, &no) && !errors.Is(no, fs.ErrNotExist)
}

// whatToDo adds the remedy to an error that says that the device does not give back
// a file of a session.
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
func gone(err error) error { return fmt.Errorf("session %w: %w", ErrAway, err) }

// missing is the message for a file that does not exist.
const missing = "it is missing"

// whyNoMetadata describes the fault of metadata.json or labels.json for a person.
func whyNoMetadata(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	return err.Error()
}
