package journal

import (
	"context"
	"io"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Log is one session's events, in order and numbered without gaps. It is safe for
// concurrent use. Reading never waits for writing, and one log never waits for
// another.
type Log interface {
	// ID is the session's id.
	ID() string
	// Epoch is the log's identity, 16 hex digits. It changes only while the log is
	// opened or reopened, before it is read.
	Epoch() string
	// Marks returns all watermarks at one moment.
	Marks() Marks
	// Health returns whether the log can be written, and counts its damage.
	Health() Health
	// Changed returns a channel that is closed when more becomes visible, or the log
	// closes. Take it before reading, or a change in between is missed.
	Changed() <-chan struct{}

	// Append writes the drafts with the next seqs, in order and all or none. With a
	// draft of a durable type it returns once they are durable and visible, otherwise
	// once they are written. Concurrent calls are safe and may share writes. A string
	// over 256 KiB in a draft becomes a blob first. The drafts are not retained.
	//
	// next is the seq with which the caller expects the log to go on; 0 accepts any. If
	// the log is elsewhere the error is ErrMoved. The log may put a line of its own, such
	// as segment_start, before the drafts, so first may be above next.
	//
	// ErrInvalid, ErrBlocked, ErrMoved and ErrFenced mean that nothing was written, and
	// after ErrBlocked the call may be repeated. After ErrFrozen, or if ctx ends while
	// waiting for the device, the result is open: the drafts are in the log, but were not
	// acknowledged.
	Append(ctx context.Context, next event.Seq, drafts ...event.Draft) (first, last event.Seq, err error)

	// ReadAfter returns events after the given seq, oldest first: at most maxBytes of
	// them, but at least one if there is one. An empty batch means that there is no
	// newer event yet. It returns visible events only and never blocks for more. For an
	// unreadable event it returns a placeholder of type corrupt, so a batch has no
	// holes. The batch shares memory with the log and other readers.
	//
	// If after is below Marks.Min-1 it returns ErrRemoved, if it is negative
	// ErrInvalid.
	ReadAfter(ctx context.Context, after event.Seq, maxBytes int) (event.Batch, error)
	// ReadBefore returns the newest events below the given seq in ascending order: at
	// most limit (and 10,000) of them, at most 256 KiB but at least one. 0, or a seq
	// beyond the end, means the end. It reads like ReadAfter, but events that retention
	// removes meanwhile only make the page shorter.
	ReadBefore(ctx context.Context, before event.Seq, limit int) (event.Batch, error)
	// ReadWritten reads like ReadAfter but returns no placeholders, so that missing
	// events cost nothing. It is for folds of a log, which ignore placeholders. Through
	// is the seq up to which the log was read, and the after of the next call: it
	// equals after if there is no newer event yet, and is otherwise higher, even if the
	// batch is empty. The batch's Last is through, and its Count the number of events
	// in it.
	ReadWritten(ctx context.Context, after event.Seq, maxBytes int) (b event.Batch, through event.Seq, err error)
	// ReadLines reads like ReadAfter, but returns the lines as the log stores them, so
	// that a copy of it can be kept. It has a line for each seq, a placeholder's for an
	// unreadable event, but none for seqs of which a line of the log itself says that
	// they are lost: the epoch or segment_start behind them.
	ReadLines(ctx context.Context, after event.Seq, maxBytes int) (Stretch, error)
	// SeqAt returns the first visible event at or after a time. It uses the latest time
	// so far: if the clock went back, an earlier event may already have reached it. It
	// returns false if all events are earlier. It may read the whole log.
	SeqAt(ctx context.Context, at time.Time) (seq event.Seq, found bool, err error)

	// Pack stores the events so far in less space, as a log that nobody continues soon. The
	// log is read and continued as before, but old events are slower to come. It may add a
	// line of its own. When ctx ends it stops, and may be called again.
	Pack(ctx context.Context) error
	// Reopen makes a frozen log writable again. Unacknowledged events are kept and become
	// visible. If the device fails again, the log stays frozen. On a log that is not
	// frozen it does nothing.
	Reopen(ctx context.Context) error
	// Present returns nil if the log's directory exists, an ErrAway if it is missing,
	// or why that cannot be determined.
	Present() error

	Meta
	Blobs

	// Files are the session's small files beside the log.
	Files() Files
	// Derived are files computed from this log.
	Derived() Derived
}

// Stretch is some consecutive lines of one file of a log.
type Stretch struct {
	// Lines are whole lines, each with its checksum and its newline. It is empty if there
	// is no newer line yet. The caller owns it.
	Lines []byte
	// File is the first seq of the file that has the lines.
	File event.Seq
	// Last is the seq of the last line.
	Last event.Seq
}

// Marks are the watermarks of a log: Min <= Visible <= Written and
// Synced <= Written.
type Marks struct {
	// Min is the first readable seq. It is above 1 once old events were removed.
	Min event.Seq
	// Visible is the last seq that readers see: max_seq. Zero if there is none.
	Visible event.Seq
	// Written is the last seq that a crash of this program cannot lose.
	Written event.Seq
	// Synced is the last seq that a power cut cannot lose.
	Synced event.Seq
}

// Meta is a session's metadata.
type Meta interface {
	// Metadata returns the summary for lists with the current numbers. The caller may
	// keep and change it.
	Metadata() Metadata
	// UpdateMetadata changes the fields that belong to the session; changes of the
	// numbers are ignored. The change is in memory when it returns, and stored soon: see
	// FlushMetadata for now. f must not call the log. After a loss of the lease it does
	// nothing.
	UpdateMetadata(f func(*Metadata))
	// Label changes the labels of a session: Name where Named, Archived, Pinned, Tags. When
	// it returns they are stored; the rest of the metadata may follow. A change that
	// cannot be stored has no effect. ErrBlocked if there is no space. f must not call
	// the log.
	Label(f func(*Metadata)) error
	// FlushMetadata makes the log durable and then its metadata, and returns once both
	// are. The session calls it at the end of a turn.
	FlushMetadata(ctx context.Context) error
	// TakeBackUpdated sets the log's updated time to one before its newest events, so
	// that these do not make it unread. After a crash the newest event counts again.
	// There must be no append meanwhile.
	TakeBackUpdated(at time.Time)
}

// Blobs are a session's large values and uploads, named by their SHA-256 in 64
// lower-case hex digits. Equal bytes are one blob. Writing a blob needs no current
// lease: it harms no other holder.
type Blobs interface {
	// OpenBlob opens a blob. The caller closes it. A damaged blob cannot be read to its
	// end: it is ErrDamaged here, or reading fails with ErrDamaged before its last
	// bytes. A reader may have a method Name() string, the absolute path of a file with
	// the bytes.
	OpenBlob(sha256 string) (io.ReadSeekCloser, error)
	// PutBlobFrom reads to the end and stores the bytes, so that an event may name them.
	// It does not hold them in memory at once. mediaType is not checked. After an error
	// of the reader nothing is stored.
	PutBlobFrom(ctx context.Context, mediaType string, from io.Reader) (event.Blob, error)
	// BlobNames lists the blobs by SHA-256, ascending.
	BlobNames() ([]string, error)

	// NoteUpload stores the name, type and time of a blob's upload. The blob must exist.
	NoteUpload(ctx context.Context, a event.Attachment, at time.Time) error
	// Upload returns the record of an uploaded file. The claim's hash identifies the
	// blob; its name and type select between several uploads of the same bytes. Bytes
	// is the blob's size. A blob that was never uploaded is ErrNotFound, also if the
	// log itself stored a blob with that hash.
	Upload(claim event.Attachment) (event.Attachment, error)
	// Uploaded reports whether a blob with this hash was uploaded.
	Uploaded(sha256 string) bool
	// UploadSize returns the size in bytes and the number of the uploaded blobs.
	UploadSize() (bytes int64, files int, err error)
	// StaleUploads lists blobs that were uploaded before a time and are not known to be
	// named by the log: at most 1,000, by their SHA-256. With only, it checks just those.
	StaleUploads(before time.Time, only []string) ([]string, error)
	// NameUploads records that the log names uploaded blobs, or that another session needs
	// them: they never become stale.
	NameUploads(shas []string) error
	// RemoveUploads removes uploaded blobs and their records. No event may name them.
	RemoveUploads(shas []string) error
}
