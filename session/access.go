package session

import (
	"io"
)

// Done returns a channel that is closed when the session is no longer open: it
// was put aside, it is being deleted, or the hub is ending. Its log can still be
// read for a while; Manager.Session says what became of it.
func (b *BackgroundSession) Done() <-chan struct{} { return b.done }

// OpenBlob opens a value of this session that was too large for its log, or an
// attachment, by the SHA-256 of its bytes in hex. The caller closes it. One that
// is not there is ErrNotFound, one with other bytes ErrDamaged: of those over 16 MiB
// the reader says so, before its last bytes.
func (b *BackgroundSession) OpenBlob(sha256 string) (io.ReadSeekCloser, error) {
	blob, err := b.log.OpenBlob(sha256)
	return blob, logError(err)
}

// Settings returns what is in force. It is shared and must not be changed.
func (m *Manager) Settings() *Settings { return m.settings.Load() }
