package store

import (
	"context"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// ErrNoFile is the error for anything but a regular file.
var ErrNoFile = disk.ErrNoFile

// CheckOn is Check on another file system.
func CheckOn(ctx context.Context, fsys FS, dir, id string) (Report, error) {
	return checkDir(ctx, fsys, "", dir, id)
}

// LogOf returns the log that a holder of a lease has.
func LogOf(l journal.Log) *Log { return l.(*held).Log }

// InChain reports whether a file in a session's directory belongs to its log.
func InChain(dir, name string) (bool, error) { return inChain(disk.OS(), dir, name) }

// Retain applies retention at once.
func (l *Log) Retain(ctx context.Context, maxBytes int64) (event.Seq, error) {
	return l.retention.retain(ctx, maxBytes)
}
