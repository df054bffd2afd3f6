package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// Uploads returns the records of files that were uploaded to a session, by their SHA-256. With
// hold they stay, as those that a prompt names do. It is ErrInvalid if one is not there.
func (m *Manager) Uploads(ctx context.Context, id string, shas []string, hold bool) ([]event.Attachment, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	// The engine removes old uploads, so none goes away between the two steps.
	return ask(ctx, b.mail, func(e *engine) (list []event.Attachment, err error) {
		for _, sha := range shas {
			a, err := b.log.Upload(event.Attachment{SHA256: sha})
			if errors.Is(err, journal.ErrNotFound) {
				return nil, fmt.Errorf("%w: no file with the SHA-256 %s was uploaded to session %s: upload it there first (POST /api/sessions/%s/attachments)", state.ErrInvalid, sha, id, id)
			}
			if err != nil {
				return nil, fmt.Errorf("attachment %s cannot be read: %w", sha, problem.OfLog(err))
			}
			list = append(list, a)
		}
		if hold {
			err = b.log.NameUploads(shas)
		}
		return list, err
	})
}

// CopiesFit returns when n copies of the files attached to a job will be within the daily limit
// of the actor that asks for it; nil if they are now.
func (m *Manager) CopiesFit(by event.Actor, attachments []event.Attachment, n int) error {
	bytes := int64(0)
	for _, a := range attachments {
		bytes += int64(n) * (a.Bytes + uploadOverhead)
	}
	if bytes == 0 {
		return nil
	}
	return m.hub.uploads.fits(by.ID, bytes, m.hub.settings().Limits.DailyAttachmentBytes)
}

// CopyJobUploads copies the files attached to a job into its own session, unless they are
// there. They come from the session that delegated the job, or from the job it is a retry of.
// It is ErrNotFound if a file is in none of them.
func (m *Manager) CopyJobUploads(ctx context.Context, id string) error {
	b, err := m.Session(ctx, id)
	if err != nil {
		return err
	}
	job, err := b.Job(ctx)
	if err != nil {
		return err
	}
	given, shas := job.Given, []string{}
	for _, a := range given.Attachments {
		if !b.log.Uploaded(a.SHA256) {
			if err := m.copyUpload(ctx, b, a, []string{given.RetryOf, given.DelegatedBy}); err != nil {
				return err
			}
		}
		shas = append(shas, a.SHA256)
	}
	return b.log.NameUploads(shas)
}

// copyUpload copies an upload from the first of some sessions that has it.
func (m *Manager) copyUpload(ctx context.Context, to *BackgroundSession, a event.Attachment, from []string) error {
	for _, id := range slices.DeleteFunc(from, func(id string) bool { return id == "" }) {
		b, err := m.Session(ctx, id)
		if errors.Is(err, state.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		blob, err := b.OpenBlob(a.SHA256)
		if errors.Is(err, state.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = to.log.PutBlobFrom(ctx, a.MediaType, blob)
		if err = errors.Join(err, blob.Close()); err == nil {
			err = to.log.NoteUpload(ctx, a, time.Now())
		}
		if err != nil {
			return fmt.Errorf("store attachment: %w", to.unkept(err))
		}
		to.uploads.add(a.Bytes + uploadOverhead)
		m.hub.uploads.count(to.log.Metadata().CreatedByID, a.Bytes+uploadOverhead)
		return nil
	}
	return fmt.Errorf("%w: attachment %q was deleted with the session it was uploaded to: attach it again", state.ErrNotFound, a.Name)
}
