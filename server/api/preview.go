package api

import (
	"context"
	"io"
	"time"

	"github.com/abidehub/abide/internal/preview"
)

// previewBound limits the time to decode one picture: a small file can have
// thousands of scans.
const previewBound = 10 * time.Second

// previewWait limits how long a picture waits for its turn. Then it has no preview.
const previewWait = 2 * time.Second

// previews makes previews one at a time, because a decoded picture may take 96 MiB.
type previews chan struct{}

// of waits for its turn, at most previewWait. If it returns preview.ErrNone, the
// picture's reader is back at the beginning.
func (p previews) of(ctx context.Context, picture io.ReadSeeker) (data []byte, mediaType string, err error) {
	select {
	case p <- struct{}{}:
		defer func() { <-p }()
	case <-time.After(previewWait):
		return nil, "", preview.ErrNone
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, previewBound)
	defer cancel()
	data, mediaType, err = preview.Of(ctx, picture)
	if err != nil {
		if _, seek := picture.Seek(0, io.SeekStart); seek != nil {
			return nil, "", seek
		}
	}
	return data, mediaType, err
}
