package store

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// Log returns the copy as a log that is only read. All that would change it is
// ErrCopyOnly.
func (c *Copy) Log() journal.Log { return copyLog{c} }

// copyLog implements journal.Log. The methods that it does not have are the copy's.
type copyLog struct{ *Copy }

var errCopyOnly = fmt.Errorf("%w: %w", journal.ErrFenced, ErrCopyOnly)

// Health implements journal.Log.
func (l copyLog) Health() journal.Health {
	h := l.health.get()
	h.State, h.Reason = journal.HealthLost, ErrCopyOnly.Error()
	return h
}

// Append implements journal.Log.
func (copyLog) Append(context.Context, event.Seq, ...event.Draft) (first, last event.Seq, err error) {
	return 0, 0, errCopyOnly
}

// Pack implements journal.Log.
func (copyLog) Pack(context.Context) error { return errCopyOnly }

// Reopen implements journal.Log.
func (copyLog) Reopen(context.Context) error { return errCopyOnly }

// Present implements journal.Log.
func (l copyLog) Present() error { return away(l.fs, l.dir) }

// UpdateMetadata implements journal.Meta.
func (copyLog) UpdateMetadata(func(*journal.Metadata)) {}

// Label implements journal.Meta.
func (copyLog) Label(func(*journal.Metadata)) error { return errCopyOnly }

// FlushMetadata implements journal.Meta.
func (l copyLog) FlushMetadata(context.Context) error { return l.flush() }

// TakeBackUpdated implements journal.Meta.
func (copyLog) TakeBackUpdated(time.Time) {}

// PutBlobFrom implements journal.Blobs.
func (copyLog) PutBlobFrom(context.Context, string, io.Reader) (event.Blob, error) {
	return event.Blob{}, errCopyOnly
}

// NoteUpload implements journal.Blobs.
func (copyLog) NoteUpload(context.Context, event.Attachment, time.Time) error { return errCopyOnly }

// NameUploads implements journal.Blobs.
func (copyLog) NameUploads([]string) error { return errCopyOnly }

// RemoveUploads implements journal.Blobs.
func (copyLog) RemoveUploads([]string) error { return errCopyOnly }

// Files implements journal.Log.
func (l copyLog) Files() journal.Files {
	return files{disk.Folder{FS: l.fs, Dir: l.dir}, func() error { return errCopyOnly }}
}

// Derived implements journal.Log.
func (l copyLog) Derived() journal.Derived { return l.Copy.Derived() }
