package journal

import (
	"cmp"
	"context"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Store keeps sessions. It is safe for concurrent use.
type Store interface {
	// Create creates a session, which is stored when it returns. It sets start's Format,
	// SessionID and Epoch; the log begins with that event.
	Create(ctx context.Context, start event.SessionStart) (id string, err error)
	// Import creates a session from events that have seqs, times and epochs. It creates
	// all of it or nothing. The metadata is marked Imported unless the events are Own. ErrExists if a session has
	// the id, ErrInvalid if the events are not a log from its beginning.
	Import(ctx context.Context, in Imported) (id string, err error)
	// Lease asks whether this hub may write a session. It is granted at once unless
	// another hub holds it, which is ErrHeld. A newer lease of the same hub ends the one
	// before. It opens no log. Errors are also ErrInvalidID and ErrNotFound.
	Lease(ctx context.Context, id string) (Lease, error)
	// Delete deletes a session with everything beside its log, also a damaged one. It
	// takes the lease, and closes the log first: readers get ErrClosed.
	Delete(ctx context.Context, id string) error
	// Trash puts a session away with everything beside its log, as Delete deletes it:
	// Restore brings it back as it was.
	Trash(ctx context.Context, id string) error
	// Trashed are the sessions that were put away, the last first.
	Trashed() ([]Trashed, error)
	// Restore lists a session again that was put away, the last one of that id. Errors
	// are ErrInvalidID, ErrNotFound, and ErrExists if a session has the id.
	Restore(ctx context.Context, id string) error
	// Purge deletes one that was put away. It may be gone already.
	Purge(ctx context.Context, one Trashed) error

	// List returns the metadata of every session, newest activity first. It opens no
	// log.
	List() []Metadata
	// Newest yields the entries of List after a place. It computes each entry when it
	// is requested, so a page of a long list costs only the page. Order and UpdatedAt
	// are those of the start; sessions deleted meanwhile are omitted.
	Newest(behind Place) iter.Seq[Metadata]
	// Listed returns the entry of List for one session, and whether it exists. It opens
	// no log.
	Listed(id string) (Metadata, bool)
	// Owned yields the entries of List that this hub is to care for: those that no other
	// hub holds a lease of. Another hub may take a lease meanwhile.
	Owned() iter.Seq[Metadata]

	// Beside are the small files of a session without its lease, for reading only.
	Beside(id string) (Files, error)
	// Lines are the stored lines of a session's log without opening it, in parts,
	// oldest first.
	Lines(id string) ([]Part, error)
	// Present is Log.Present without opening the log.
	Present(id string) error
	// Sizes measures the files of a session without opening its log.
	Sizes(id string) (Sizes, error)
	// Unpacked is how many bytes of a log Log.Pack would pack, without opening it.
	Unpacked(id string) (int64, error)
	// StaleUploads is Blobs.StaleUploads of a session without opening its log.
	StaleUploads(id string, before time.Time) ([]string, error)
	// Files are the small files that are of no session.
	Files() Files
	// DerivedOf is Derived of a session's Log, without opening the log.
	DerivedOf(id string) (Derived, error)
	// Derived are files computed from all logs.
	Derived() Derived
}

// Sizes are what the files of a session take, in bytes: its log, its large values and
// uploads, what is derived from the log, and everything else.
type Sizes struct {
	Log     int64 `json:"log"`
	Blobs   int64 `json:"blobs,omitempty"`
	Derived int64 `json:"derived,omitempty"`
	Other   int64 `json:"other,omitempty"`
}

// Total is the sum.
func (s Sizes) Total() int64 { return s.Log + s.Blobs + s.Derived + s.Other }

// Add adds other.
func (s *Sizes) Add(other Sizes) {
	s.Log += other.Log
	s.Blobs += other.Blobs
	s.Derived += other.Derived
	s.Other += other.Other
}

// Part is a stretch of a log as it is stored.
type Part interface {
	// Open opens the part for reading; the caller closes it. Its bytes are whole lines
	// {"seq":N,…} of ascending N, each with its newline, but for damage, and in the last
	// part for a line that is just being written. Lines above Marks.Visible may be there.
	// Nil says that the part does not belong to the log. The error fs.ErrNotExist says that
	// it was removed meanwhile.
	Open() (Lines, error)
}

// Lines are the bytes of an open Part. They are safe for concurrent use.
type Lines interface {
	io.ReaderAt
	io.Closer
	// Size is the number of bytes when the part was opened.
	Size() int64
}

// Lease is the right of one holder to write one session. There is no clock in it: it
// lasts until a newer lease is granted, and the holder learns of that by ErrFenced.
type Lease interface {
	// Log opens the session's log for the holder and recovers it. A log that cannot be
	// repaired for lack of space is readable and HealthBlocked. After an error a later
	// call tries again.
	Log(ctx context.Context) (Log, error)
	// Release gives the lease back, so that another hub may have it. The log stays
	// readable; a write after that may be ErrFenced. It may be called again.
	Release()
}

// Place is a position in the list's order, not a session, so it stays valid when
// sessions come, go and move. The zero Place is before all.
type Place struct {
	UpdatedAt time.Time
	SessionID string
}

// Compare puts the newest first.
func (p Place) Compare(other Place) int {
	return cmp.Or(other.UpdatedAt.Compare(p.UpdatedAt), strings.Compare(other.SessionID, p.SessionID))
}

// Trashed is a session that was put away.
type Trashed struct {
	// Metadata is as it was then.
	Metadata
	// At is when it was put away, in UTC and whole milliseconds.
	At time.Time
	// Bytes are what its files take.
	Bytes int64
}

// Imported is a session that comes whole: from another hub, or with a past.
type Imported struct {
	// First is its session_start, which has its id and epoch.
	First event.Event
	// Next returns the event after the one before, and io.EOF after the last.
	Next func() (event.Event, error)
	// NextBlob returns the bytes of a large value and their expected hash, and
	// io.EOF after the last. Nil means that there are none.
	NextBlob func() (sha256 string, data io.Reader, err error)
	// Name is the session's name given by a person; empty if none.
	Name string
	// Files are small files of the session by name, as in Files of a Log.
	Files map[string][]byte
	// Own means that this hub made the events: the metadata is not marked Imported.
	Own bool
}
