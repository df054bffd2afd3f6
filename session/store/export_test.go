package store

import (
	"context"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// ErrNoFile is the error for anything but a regular file.
var ErrNoFile = disk.ErrNoFile

// CheckOn is Check on another file system.
func CheckOn(ctx context.Context, fsys FS, dir, id string) (Report, error) {
	return checkDir(ctx, fsys, "", dir, id)
}

// Retain applies retention at once.
func (l *Log) Retain(ctx context.Context, maxBytes int64) (event.Seq, error) {
	return l.retention.retain(ctx, maxBytes)
}
