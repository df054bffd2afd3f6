package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/blobs"
)

// writer writes one log: it makes lines of drafts, and goes on in a new file when one
// is complete. Its methods are called by the holder of the write lock, unless they say
// otherwise.
type writer struct {
	*core
	// Set at construction.
	meta      *metadataFile
	blobs     *blobs.Folder
	sync      *syncer
	poke      func() // has the flusher flush soon
	completed func() // a file is complete

	active activeFile
	lock   writeLock
	out    output // owned by the holder of lock
}

// withWriteLock runs f while this goroutine holds the write lock, so that nothing is written
// beside it. It waits its turn like an append.
func (w *writer) withWriteLock(f func() error) error {
	if !w.lock.tryLock() {
		w.lock.acquire(&request{alone: true})
	}
	defer w.lock.unlock()
	return f()
}

// freeze stops the log until it is reopened: see ErrFrozen.
func (w *writer) freeze(err error) {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, journal.ErrAway) {
		if away := away(w.fs, w.dir); errors.Is(away, journal.ErrAway) {
			err = fmt.Errorf("%w: %w", away, err)
		}
	}
	w.health.freeze(err)
	w.meta.setFrozen(true)
	w.opts.Logger.Error("log is frozen", "session", w.id, "err", err)
	w.poke()
}

// noSpaceToRepair says why an unrepaired log cannot be written.
func (w *writer) noSpaceToRepair() error {
	if err := w.health.refusal(); err != nil {
		return err
	}
	return fmt.Errorf("%w: it is needed to repair %s", journal.ErrBlocked, activeName)
}

// beginFile moves the log on to a file that is in place and synced: sealed is
// the name of the one before, last its last seq. Unless the names are durable too,
// nothing of it counts as synced. The caller holds the write lock.
func (w *writer) beginFile(sealed string, last event.Seq, file File, final firstLine, durable bool) {
	p := &w.out
	old := p.seg
	old.seal(sealed, last)
	p.seg = &segment{fs: w.fs, first: last + 1, path: filepath.Join(w.dir, activeName), file: file}
	p.seg.index.Add(last+1, 0)
	p.file, p.offset, p.indexed, p.ragged = file, final.offset, 0, false
	p.opened = position{seq: last}
	p.next = final.seq + 1
	w.segs.push(p.seg)
	w.tail.Add(final.seq, final.body)
	w.marks.wrote(final.position, nil)
	if durable {
		w.marks.reached(final.position)
	}
	w.bell.Ring()
	w.completed()
}

// firstLine is the line that says which segment begins.
type firstLine struct {
	position
	body []byte
}
