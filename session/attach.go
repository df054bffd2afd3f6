package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// Attach stores the bytes of content as a file for a later prompt, and returns the
// reference to it. The file is on the device when Attach returns. The bytes are
// written as they arrive and not held in memory. An upload that exceeds the limits
// or is interrupted leaves no file.
func (b *BackgroundSession) Attach(ctx context.Context, by event.Actor, name, mediaType string, content io.Reader) (a event.Attachment, err error) {
	quota, err := ask(ctx, b.mail, func(e *engine) (*uploadQuota, error) {
		return &uploadQuota{b: b, days: e.hub.uploads, credential: by.ID, limits: e.hub.settings().Limits}, nil
	})
	if err != nil {
		return event.Attachment{}, err
	}
	b.uploading.RLock() // the sweep must not remove a new upload
	defer b.uploading.RUnlock()
	fresh := false
	defer func() {
		if !fresh {
			quota.giveBack()
		}
	}()
	if err := quota.take(uploadOverhead); err != nil {
		return event.Attachment{}, err
	}
	in := &attached{from: content, limit: int64(quota.limits.AttachmentBytes), quota: quota}
	blob, err := b.log.PutBlobFrom(ctx, mediaType, in)
	switch {
	case in.err != nil:
		return event.Attachment{}, in.err
	case err != nil:
		return event.Attachment{}, fmt.Errorf("store attachment: %w", b.unkept(err))
	}
	a = event.Attachment{
		Name:      attachmentName(name),
		MediaType: blob.MediaType,
		Bytes:     blob.Bytes,
		SHA256:    blob.SHA256,
	}
	fresh = !b.log.Uploaded(a.SHA256)
	if err := b.log.NoteUpload(ctx, a, quota.days.now()); err != nil {
		fresh = false
		return event.Attachment{}, fmt.Errorf("store attachment: %w", b.unkept(err))
	}
	return a, nil
}

// attached reads an upload and keeps the error of a failed read.
type attached struct {
	from  io.Reader
	limit int64
	quota *uploadQuota
	read  int64
	err   error
}

// Read implements io.Reader.
func (a *attached) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	a.read += int64(n)
	switch {
	case a.read > a.limit:
		a.err = fmt.Errorf("%w: at most %d bytes of an attachment are accepted", state.ErrTooLarge, a.limit)
	case errors.Is(err, io.EOF) && a.read == 0:
		a.err = fmt.Errorf("%w: the attachment is empty", state.ErrInvalid)
	case err != nil && !errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		a.err = fmt.Errorf("%w: the attachment did not arrive whole: send it again", state.ErrInvalid)
	default:
		if a.err = a.quota.take(int64(n)); a.err == nil {
			return n, err
		}
	}
	return 0, a.err
}

// uploadQuota is one upload's reservation in the limits of its session and its
// credential.
type uploadQuota struct {
	b          *BackgroundSession
	days       *uploadDays
	credential string
	limits     settings.Limits
	taken      int64
}

func (q *uploadQuota) take(n int64) error {
	if err := q.b.uploads.take(n, q.limits.SessionAttachmentBytes, q.kept); err != nil {
		return err
	}
	if err := q.days.take(q.credential, n, q.limits.DailyAttachmentBytes); err != nil {
		q.b.uploads.giveBack(n)
		return err
	}
	q.taken += n
	return nil
}

func (q *uploadQuota) kept() (int64, error) {
	bytes, files, err := q.b.log.UploadSize()
	return bytes + uploadOverhead*int64(files), err
}

// giveBack releases the reservation of an upload that stored nothing new.
func (q *uploadQuota) giveBack() {
	q.b.uploads.giveBack(q.taken)
	q.days.giveBack(q.credential, q.taken)
}

// unkept is the error for an upload that could not be stored.
func (b *BackgroundSession) unkept(err error) error {
	if problem.IsStuck(err) || errors.Is(err, journal.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return b.stuck(err)
	}
	if away := b.log.Present(); errors.Is(away, journal.ErrAway) {
		return problem.OfLog(away)
	}
	return problem.OfUpload(b.id, err)
}
