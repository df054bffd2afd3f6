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

	"github.com/abidehub/abide/session/event"
)

// PutBlob keeps data beside the log, on the device before it returns, so that an
// event may name it. The same bytes are kept once. MediaType is not looked at.
func (l *Log) PutBlob(ctx context.Context, mediaType string, data []byte) (event.Blob, error) {
	sum := sha256.Sum256(data)
	b := event.Blob{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), MediaType: mediaType}
	if !l.closed.Load() && ctx.Err() == nil && l.keepsBlob(b) {
		return b, nil
	}
	return l.PutBlobFrom(ctx, mediaType, bytes.NewReader(data))
}

// PutBlobFrom is PutBlob for what is read until its end, and never held in
// memory. After an error of the reader nothing is kept.
func (l *Log) PutBlobFrom(ctx context.Context, mediaType string, from io.Reader) (event.Blob, error) {
	if l.closed.Load() {
		return event.Blob{}, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return event.Blob{}, err
	}
	b, err := l.storeBlob(from)
	if err != nil {
		if isFull(err) {
			l.health.block(err)
			l.keeper.poke()
			return event.Blob{}, fmt.Errorf("%w: write blob: %w", ErrBlocked, err)
		}
		return event.Blob{}, fmt.Errorf("write blob: %w", err)
	}
	b.MediaType = mediaType
	return b, nil
}

// keepsBlob reports whether the blob is there with the bytes it must have, on the
// device: a crash, or an error, may have come between its name and that being
// durable, and a damaged file would be passed on to every later event.
func (l *Log) keepsBlob(b event.Blob) bool {
	dir := filepath.Join(l.dir, blobsDir)
	check := blobCheck{fs: l.fs, dir: dir}
	return check.sound(b) && l.fs.SyncDir(dir) == nil
}

// storeBlob makes the blob's file aside and renames it into place, so a name
// that exists has all its bytes. Two callers may put the same bytes at once;
// each makes its own file.
func (l *Log) storeBlob(from io.Reader) (event.Blob, error) {
	dir, err := ownFolder(l.fs, l.dir, blobsDir)
	if err != nil {
		return event.Blob{}, err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return event.Blob{}, err
	}
	tmp := filepath.Join(dir, "incoming."+randomHex(8)+tempSuffix)
	b, err := l.writeBlob(tmp, from)
	if err != nil {
		return event.Blob{}, err
	}
	if l.keepsBlob(b) {
		return b, l.fs.Remove(tmp)
	}
	if err := l.fs.Rename(tmp, filepath.Join(dir, b.SHA256)); err != nil {
		return event.Blob{}, errors.Join(err, l.fs.Remove(tmp))
	}
	return b, l.fs.SyncDir(dir)
}

// writeBlob writes a file and brings it to the device. After an error there is
// no file.
func (l *Log) writeBlob(path string, from io.Reader) (event.Blob, error) {
	f, err := l.fs.Create(path)
	if err != nil {
		return event.Blob{}, err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(io.NewOffsetWriter(f, 0), hash), from)
	if errors.Is(err, io.ErrShortWrite) {
		err = errShort
	}
	if err == nil {
		err = f.Datasync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return event.Blob{}, errors.Join(err, l.fs.Remove(path))
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
