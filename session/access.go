package session

import (
	"errors"
	"io"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// Done returns a channel that is closed when the session is no longer open: it was
// put aside, it is being deleted, or the hub is ending. Its log can still be read
// for a while; Manager.Session tells why.
func (b *BackgroundSession) Done() <-chan struct{} { return b.done }

// OpenBlob opens a value of this session that was too large for its log, or an
// attachment, by the SHA-256 of its bytes in hex. The caller closes it. One that
// is not there is ErrNotFound, one that cannot be read or has other bytes a
// *ProblemError: of those over 16 MiB the reader fails before its last bytes.
func (b *BackgroundSession) OpenBlob(sha256 string) (io.ReadSeekCloser, error) {
	blob, err := b.log.OpenBlob(sha256)
	if err == nil {
		return blob, nil
	}
	if away := b.log.Present(); errors.Is(away, store.ErrAway) {
		return nil, logError(away)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, logError(err)
	}
	return nil, &ProblemError{blobProblem(b.id, err), err}
}

// Attached reports whether a blob of this session was uploaded as a file of a
// prompt. Where that cannot be told it says so, too.
func (b *BackgroundSession) Attached(sha256 string) bool {
	_, err := b.log.Upload(event.Attachment{SHA256: sha256})
	return !errors.Is(err, store.ErrNotFound)
}

// Settings returns the settings in force. It is shared and must not be changed.
func (m *Manager) Settings() *Settings { return m.settings.Load() }
