package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// upload is the record of an upload.
type upload struct {
	name, mediaType string
	at              time.Time
	named           bool
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// reader is an open blob.
type reader struct{ *bytes.Reader }

// Close implements io.Closer.
func (reader) Close() error { return nil }

// OpenBlob implements journal.Blobs.
func (l *log) OpenBlob(sha string) (io.ReadSeekCloser, error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	data, ok := l.kept.blobs[sha]
	if !ok {
		return nil, fmt.Errorf("%w: blob %q", journal.ErrNotFound, sha)
	}
	return reader{bytes.NewReader(data)}, nil
}

// PutBlobFrom implements journal.Blobs.
func (l *log) PutBlobFrom(ctx context.Context, mediaType string, from io.Reader) (event.Blob, error) {
	if err := ctx.Err(); err != nil {
		return event.Blob{}, err
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return event.Blob{}, fmt.Errorf("write blob: %w", err)
	}
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	if err := l.usable(); err != nil {
		return event.Blob{}, err
	}
	if err := l.device.room(Blobs); err != nil {
		l.failed = true
		return event.Blob{}, err
	}
	sha := hashOf(data)
	l.kept.blobs[sha] = data
	return event.Blob{SHA256: sha, Bytes: int64(len(data)), MediaType: mediaType}, nil
}

// BlobNames implements journal.Blobs.
func (l *log) BlobNames() ([]string, error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	return slices.Sorted(maps.Keys(l.kept.blobs)), nil
}

// NoteUpload implements journal.Blobs.
func (l *log) NoteUpload(ctx context.Context, a event.Attachment, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	records := l.kept.sent[a.SHA256]
	for i, u := range records {
		if u.name == a.Name && u.mediaType == a.MediaType {
			records[i].at = at
			return nil
		}
	}
	l.kept.sent[a.SHA256] = append(records, upload{name: a.Name, mediaType: a.MediaType, at: at})
	return nil
}

// Upload implements journal.Blobs.
func (l *log) Upload(claim event.Attachment) (event.Attachment, error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	records := l.kept.sent[claim.SHA256]
	if len(records) == 0 {
		return event.Attachment{}, fmt.Errorf("%w: blob %s was not uploaded", journal.ErrNotFound, claim.SHA256)
	}
	at := slices.IndexFunc(records, func(u upload) bool { return u.name == claim.Name && u.mediaType == claim.MediaType })
	u := records[max(at, 0)]
	return event.Attachment{Name: u.name, MediaType: u.mediaType, Bytes: int64(len(l.kept.blobs[claim.SHA256])), SHA256: claim.SHA256}, nil
}

// Uploaded implements journal.Blobs.
func (l *log) Uploaded(sha string) bool {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	return len(l.kept.sent[sha]) > 0
}

// UploadSize implements journal.Blobs.
func (l *log) UploadSize() (bytes int64, files int, err error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	for sha := range l.kept.sent {
		bytes, files = bytes+int64(len(l.kept.blobs[sha])), files+1
	}
	return bytes, files, nil
}

// StaleUploads implements journal.Blobs.
func (l *log) StaleUploads(before time.Time, only []string) ([]string, error) {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	return l.kept.stale(before, only), nil
}

func (k *kept) stale(before time.Time, only []string) (stale []string) {
	for _, sha := range slices.Sorted(maps.Keys(k.sent)) {
		fresh := func(u upload) bool { return u.named || u.at.After(before) }
		if (only == nil || slices.Contains(only, sha)) && !slices.ContainsFunc(k.sent[sha], fresh) {
			stale = append(stale, sha)
		}
	}
	return stale
}

// NameUploads implements journal.Blobs.
func (l *log) NameUploads(shas []string) error {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	for _, sha := range shas {
		for i := range l.kept.sent[sha] {
			l.kept.sent[sha][i].named = true
		}
	}
	return nil
}

// RemoveUploads implements journal.Blobs.
func (l *log) RemoveUploads(shas []string) error {
	l.device.mu.Lock()
	defer l.device.mu.Unlock()
	for _, sha := range shas {
		delete(l.kept.blobs, sha)
		delete(l.kept.sent, sha)
	}
	return nil
}
