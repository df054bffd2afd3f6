package store

import (
	"context"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// ErrNoFile refuses anything but a regular file.
var ErrNoFile = disk.ErrNoFile

// CheckOn is Check on a file system.
func CheckOn(ctx context.Context, fsys FS, dir, id string) (Report, error) {
	return checkDir(ctx, fsys, "", dir, id)
}

// Retain removes old events at once.
func (l *Log) Retain(ctx context.Context, maxBytes int64) (event.Seq, error) {
	return l.retention.retain(ctx, maxBytes)
}
