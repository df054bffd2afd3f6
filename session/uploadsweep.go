package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

const (
	// uploadLife is how long an upload waits for a prompt that names it.
	uploadLife = time.Hour
	// sweepEvery is how often the sessions are searched for old uploads.
	sweepEvery = 10 * time.Minute
	// sweepBatch is how much of a log is searched at once, in bytes.
	sweepBatch = 1 << 20
)

// sweepUploads removes uploads that no prompt names.
func (m *Manager) sweepUploads() {
	before := m.hub.uploads.now().Add(-uploadLife)
	for meta := range m.journal.Owned() {
		if m.ctx.Err() != nil {
			return
		}
		if err := m.sweepSession(meta.SessionID, before); err != nil && m.ctx.Err() == nil {
			m.logger.Warn("old uploads stay", "session", meta.SessionID, "err", err)
		}
	}
}

// sweepSession opens a session only if it has old uploads.
func (m *Manager) sweepSession(id string, before time.Time) error {
	stale, err := m.journal.StaleUploads(id, before)
	if err != nil || len(stale) == 0 {
		return err
	}
	b, err := m.Session(m.ctx, id)
	if err != nil {
		return err
	}
	return b.sweepUploads(m.ctx, before)
}

// sweepUploads removes uploads from before the given time that no prompt names. One
// job of the engine checks a prompt's files and writes the prompt to the log or the
// queue; another removes files, so the two cannot interleave. Most of the log is
// searched before that job.
func (b *BackgroundSession) sweepUploads(ctx context.Context, before time.Time) error {
	stale, err := b.log.StaleUploads(before, nil)
	if err != nil {
		return err
	}
	named, through, err := namedAfter(ctx, b.log, 0, stale)
	if err != nil {
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		if e.intake.changing || !b.uploading.TryLock() { // a prompt may be on its way into the queue
			return nil // try again in the next round
		}
		defer b.uploading.Unlock()
		removed, err := e.intake.removeUploads(ctx, before, stale, named, through)
		if removed {
			b.uploads.forget()
		}
		return err
	})
}

// removeUploads is the part in the engine. named are the blobs that the log names
// up to through. removed reports whether it tried to remove any.
func (i *intake) removeUploads(ctx context.Context, before time.Time, stale, named []string, through event.Seq) (removed bool, err error) {
	if marks := i.log.Marks(); i.log.Health().State != journal.HealthOK || marks.Written != marks.Visible {
		return false, nil // the log may hold a prompt that cannot be read yet
	}
	stale, err = i.log.StaleUploads(before, stale) // a file may have been uploaded again
	if err != nil {
		return false, err
	}
	later, _, err := namedAfter(ctx, i.log, through, stale)
	if err != nil {
		return false, err
	}
	named = append(named, later...)
	waiting := map[string]bool{}
	for _, item := range i.queue.Items() {
		for _, a := range item.Attachments {
			waiting[a.SHA256] = true
		}
	}
	unnamed := slices.DeleteFunc(stale, func(sha string) bool { return waiting[sha] || slices.Contains(named, sha) })
	if len(unnamed) > 0 {
		err = i.log.RemoveUploads(unnamed)
	}
	if len(named) > 0 {
		err = errors.Join(err, i.log.NameUploads(named))
	}
	return len(unnamed) > 0, err
}

// namedAfter returns which of the blobs the events after a seq of a log name, and
// the last seq read. Any occurrence of the hash counts.
func namedAfter(ctx context.Context, log journal.Log, after event.Seq, blobs []string) (named []string, through event.Seq, err error) {
	for {
		batch, through, err := log.ReadWritten(ctx, after, sweepBatch)
		if kept := log.Marks().Min - 1; errors.Is(err, journal.ErrRemoved) && after < kept {
			after = kept
			continue
		}
		if err != nil {
			return nil, after, fmt.Errorf("search the log for uploads: %w", err)
		}
		if through == after {
			return named, after, nil
		}
		for _, sha := range blobs {
			if bytes.Contains(batch.JSON, []byte(sha)) {
				named = append(named, sha)
			}
		}
		after = through
	}
}
