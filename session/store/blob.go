package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// blobs keeps large values and uploads in a folder beside one log. It is safe for
// concurrent use.
type blobs struct {
	*core
	full func(error) // notes that there was no room
}

// PutBlob keeps data beside the log, on the device before it returns, so that an
// event may name it. The same bytes are kept once. MediaType is not looked at.
func (s *blobs) PutBlob(ctx context.Context, mediaType string, data []byte) (event.Blob, error) {
	sum := sha256.Sum256(data)
	b := event.Blob{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), MediaType: mediaType}
	if !s.closed.Load() && ctx.Err() == nil && s.keeps(b) {
		return b, nil
	}
	return s.PutBlobFrom(ctx, mediaType, bytes.NewReader(data))
}

// PutBlobFrom is PutBlob for what is read until its end, and never held in
// memory. After an error of the reader nothing is kept.
func (s *blobs) PutBlobFrom(ctx context.Context, mediaType string, from io.Reader) (event.Blob, error) {
	if s.closed.Load() {
		return event.Blob{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return event.Blob{}, err
	}
	b, err := s.store(from)
	if err != nil {
		if disk.IsFull(err) {
			s.full(err)
			return event.Blob{}, fmt.Errorf("%w: write blob: %w", ErrBlocked, err)
		}
		return event.Blob{}, fmt.Errorf("write blob: %w", err)
	}
	b.MediaType = mediaType
	return b, nil
}

// keeps reports whether the blob is there with the bytes it must have, on the
// device: a crash, or an error, may have come between its name and that being
// durable, and a damaged file would be passed on to every later event.
func (s *blobs) keeps(b event.Blob) bool {
	dir := filepath.Join(s.dir, blobsDir)
	check := blobCheck{fs: s.fs, dir: dir}
	return check.sound(b) && s.fs.SyncDir(dir) == nil
}

// store makes the blob's file aside and renames it into place, so a name
// that exists has all its bytes. Two callers may put the same bytes at once;
// each makes its own file.
func (s *blobs) store(from io.Reader) (event.Blob, error) {
	dir, err := disk.MakeFolder(s.fs, s.dir, blobsDir)
	if err != nil {
		return event.Blob{}, err
	}
	if err := s.fs.SyncDir(s.dir); err != nil {
		return event.Blob{}, err
	}
	tmp := filepath.Join(dir, "incoming."+randomHex(8)+disk.TempSuffix)
	b, err := s.write(tmp, from)
	if err != nil {
		return event.Blob{}, err
	}
	if s.keeps(b) {
		return b, s.fs.Remove(tmp)
	}
	if err := s.fs.Rename(tmp, filepath.Join(dir, b.SHA256)); err != nil {
		return event.Blob{}, errors.Join(err, s.fs.Remove(tmp))
	}
	return b, s.fs.SyncDir(dir)
}

// write writes a file and brings it to the device. After an error there is
// no file.
func (s *blobs) write(path string, from io.Reader) (event.Blob, error) {
	f, err := s.fs.Create(path)
	if err != nil {
		return event.Blob{}, err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(io.NewOffsetWriter(f, 0), hash), from)
	if errors.Is(err, io.ErrShortWrite) {
		err = disk.ErrShort
	}
	if err == nil {
		err = f.Datasync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return event.Blob{}, errors.Join(err, s.fs.Remove(path))
	}
	return event.Blob{SHA256: hex.EncodeToString(hash.Sum(nil)), Bytes: n}, nil
}

// compact makes one line of a JSON object.
func compact(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	if err := json.Compact(&buf, data); err != nil {
		return nil, err
	}
	return bytes.ToValidUTF8(buf.Bytes(), []byte("\uFFFD")), nil
}
