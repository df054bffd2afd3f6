package session

import (
	"errors"
	"io"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/settings"
)

// OpenBlob opens a value that was too large for the log, or an attachment, by the
// hex SHA-256 of its bytes. The caller closes it. A missing blob is ErrNotFound. A
// blob that is unreadable or has other bytes is a *problem.Error; if it has over 16
// MiB, the reader fails before its last bytes instead.
func (b *BackgroundSession) OpenBlob(sha256 string) (io.ReadSeekCloser, error) {
	blob, err := b.log.OpenBlob(sha256)
	if err == nil {
		return blob, nil
	}
	if away := b.log.Present(); errors.Is(away, journal.ErrAway) {
		return nil, problem.OfLog(away)
	}
	if errors.Is(err, journal.ErrNotFound) {
		return nil, problem.OfLog(err)
	}
	return nil, problem.OfBlob(b.id, err)
}

// Attached reports whether a blob of this session was uploaded as a file of a
// prompt. It also returns true if that cannot be determined.
func (b *BackgroundSession) Attached(sha256 string) bool {
	_, err := b.log.Upload(event.Attachment{SHA256: sha256})
	return !errors.Is(err, journal.ErrNotFound)
}

// Settings returns the current settings. They are shared and must not be changed.
func (m *Manager) Settings() *settings.Hub { return m.settings.Load() }
