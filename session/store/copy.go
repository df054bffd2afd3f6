package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
	"github.com/abidehub/abide/session/store/logfile"
)

// Copy is a copy of another machine's log, byte for byte in the same files. It is always
// a beginning of that log, or of the part that its retention left. Nothing but the
// machine's own lines is ever written into it. It is read as a Log is: see Log. It is
// safe for concurrent use, and reading never waits for writing.
type Copy struct {
	core
	reader
	*blobs.Folder
	meta copyMeta
	file copyFile
}

// openCopy opens the copy in an existing directory. poke asks for a flush soon.
func openCopy(dir string, opts Options, poke func()) (*Copy, error) {
	id := filepath.Base(dir)
	found, err := findCopy(opts.FS, dir, id, opts.Logger)
	if err != nil {
		return nil, err
	}
	c := &Copy{core: core{id: id, dir: dir, fs: opts.FS, opts: opts}}
	c.tail.Limit = opts.TailBytes
	c.bell.Pace(bellGap)
	c.reader = reader{core: &c.core}
	c.Folder = blobs.New(opts.FS, dir, c.refusal, blockedIfFull)
	c.meta = copyMeta{core: &c.core, poke: poke}
	c.file = copyFile{core: &c.core, poke: poke, active: activeFile{id: id, dir: dir, fs: opts.FS, logger: opts.Logger}}
	c.file.adopt(found)
	if err := c.meta.load(); err != nil {
		return nil, errors.Join(err, c.file.close())
	}
	return c, nil
}

func (c *Copy) refusal() error {
	if c.closed.Load() {
		return journal.ErrClosed
	}
	return nil
}

// ID is the session's id.
func (c *Copy) ID() string { return c.id }

// Epoch is that of the machine's log after the last line; empty while there is none.
func (c *Copy) Epoch() string { return *c.file.epoch.Load() }

// Marks returns all watermarks at one moment. A line is visible once it is written.
// Visible is zero while there is no line.
func (c *Copy) Marks() journal.Marks { return c.marks.snapshot() }

// Changed returns a channel that is closed when more becomes visible, or the copy
// closes. Take it before reading, or a change in between is missed.
func (c *Copy) Changed() <-chan struct{} { return c.bell.Listen() }

// Append writes lines as the machine's Log.ReadLines returned them: all or none, in one
// write(2). It returns the last seq of the copy, also after an error. lines is not
// retained.
//
// ErrCopyGap, ErrCopyForeign and ErrCopyDamaged mean that the lines do not fit.
// journal.ErrBlocked means that there is no space; the call may be repeated. After any
// other error the copy is closed, or may be used again.
func (c *Copy) Append(lines journal.Stretch) (last event.Seq, err error) {
	return c.file.append(lines.File, lines.Lines)
}

// SumAt returns the checksum of the line of a seq, 8 hex digits. Where it is equal in
// two logs, the logs are equal up to there. ok is false if there is no such line.
func (c *Copy) SumAt(ctx context.Context, seq event.Seq) (sum string, ok bool, err error) {
	if seq < 1 {
		return "", false, nil
	}
	s, err := c.ReadLines(ctx, seq-1, 1)
	if errors.Is(err, journal.ErrRemoved) {
		return "", false, nil
	}
	if err != nil || len(s.Lines) == 0 {
		return "", false, err
	}
	p := logfile.Parse(s.Lines[:len(s.Lines)-1])
	return logfile.Hex(p.Sum), p.Seq == seq, nil
}

// Retain removes the complete files that have events below a seq only, as the machine's
// retention did.
func (c *Copy) Retain(below event.Seq) error { return c.file.retain(below) }

// SetMetadata keeps what the machine says of the session. It is in memory when it
// returns, and on disk within about a second. ErrCopyForeign if it is of another session.
func (c *Copy) SetMetadata(m journal.Metadata) error { return c.meta.set(m) }

// Metadata returns what the machine said of the session, with the numbers of the copy.
func (c *Copy) Metadata() journal.Metadata {
	m := c.meta.words()
	marks := c.marks.snapshot()
	m.MinSeq, m.MaxSeq, m.SyncedSeq = marks.Min, marks.Visible, marks.Synced
	m.EventCount = int64(max(marks.Visible-marks.Min+1, 0))
	m.Epoch = c.Epoch()
	return m
}

// PutBlob stores a blob that the log names, fetched from the machine. ErrCopyDamaged if
// the bytes have another hash; then nothing is stored.
func (c *Copy) PutBlob(ctx context.Context, sha string, from io.Reader) error {
	_, err := c.PutBlobFrom(ctx, "", &hashed{from: from, want: sha, sum: sha256.New()})
	return err
}

// Derived returns the directory of files computed from this copy.
func (c *Copy) Derived() Derived { return Derived{c.fs, filepath.Join(c.dir, derivedDir)} }

// Lines are the stored lines in parts, oldest first.
func (c *Copy) Lines() ([]journal.Part, error) { return Lines(c.fs, c.dir) }

// flush syncs the copy and writes its metadata.
func (c *Copy) flush() error {
	return errors.Join(c.file.sync(), c.meta.save(c.Metadata))
}

// close flushes the copy and closes its files. Readers get ErrClosed.
func (c *Copy) close() error {
	return errors.Join(c.meta.save(c.Metadata), c.file.close())
}

// hashed is a reader whose end fails if the bytes have another hash than wanted.
type hashed struct {
	from io.Reader
	want string
	sum  hash.Hash
}

// Read implements io.Reader.
func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	h.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := hex.EncodeToString(h.sum.Sum(nil)); got != h.want {
			return n, fmt.Errorf("%w: the bytes of blob %s have the hash %s", ErrCopyDamaged, h.want, got)
		}
	}
	return n, err
}
