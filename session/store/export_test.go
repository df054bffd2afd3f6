package store

import (
	"context"

	"github.com/abidehub/abide/internal/disk"
)

// ErrNoFile refuses anything but a regular file.
var ErrNoFile = disk.ErrNoFile

// CheckOn is Check on a file system.
func CheckOn(ctx context.Context, fsys FS, dir, id string) (Report, error) {
	return checkDir(ctx, fsys, "", dir, id)
}
