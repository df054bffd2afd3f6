package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// copyFile writes the files of a copy: the lines come as the machine's store wrote
// them, and a file ends where its file ended. Readers see a line once it is written,
// because a line that a power cut takes can be read again.
type copyFile struct {
	*core
	// Set at construction.
	active activeFile
	poke   func() // has the copy synced soon

	epoch atomic.Pointer[string]
	dirty atomic.Bool // there is something to sync

	mu      sync.Mutex // held while lines are written
	end     copyEnd
	seg     *segment // the active one; nil while the active file is empty
	offset  int64    // end of the last line in it
	indexed int64    // offset of the last line in the index
	ragged  bool     // bytes of a failed write may lie behind offset
	wrote   time.Time

	// syncing is held during a sync. It is taken after mu. Both are held to change file.
	syncing  sync.Mutex
	file     File // the active file for writing; nil until it is needed
	doubtful bool // a sync failed, so that the next one proves nothing; owned by syncing
}

// append implements Copy.Append.
func (w *copyFile) append(file event.Seq, text []byte) (event.Seq, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return w.end.seq, journal.ErrClosed
	}
	empty := w.offset == 0
	begins := empty || file > w.end.seq
	end, lines, err := w.check(file, begins, text)
	if err != nil || len(lines) == 0 {
		return w.end.seq, err
	}
	if err := w.open(); err != nil {
		return w.end.seq, blockedIfFull(err)
	}
	switch {
	case empty:
		if err = w.write(text); err == nil {
			w.seg = w.segment(file)
			w.segs.push(w.seg)
			if w.end.seq == 0 {
				w.marks.remove(file)
			}
		}
	case begins:
		err = w.begin(file, text)
	default:
		err = w.write(text)
	}
	if err != nil {
		return w.end.seq, blockedIfFull(err)
	}
	w.publish(end, text, lines)
	return w.end.seq, nil
}

// check returns the end of the copy after the lines, which are all of one file.
func (w *copyFile) check(file event.Seq, begins bool, text []byte) (end copyEnd, lines []written, err error) {
	end = w.end
	if begins && end.seq > 0 && file != end.seq+1 {
		return end, nil, fmt.Errorf("%w: a file begins at seq %d, after %d", ErrCopyGap, file, end.seq)
	}
	for at := 0; at < len(text); {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return end, nil, fmt.Errorf("%w: it does not end", ErrCopyDamaged)
		}
		p, err := end.accept(text[at:at+n], file, begins && at == 0)
		if err != nil {
			return end, nil, err
		}
		lines = append(lines, written{seq: p.Seq, start: at, body: at + len(p.Body), sum: p.Sum})
		at += n + 1
	}
	return end, lines, nil
}

// open opens the active file for writing, and cuts what a failed write left.
func (w *copyFile) open() error {
	if w.file == nil {
		file, err := w.fs.OpenRW(filepath.Join(w.dir, activeName))
		if err != nil {
			return fmt.Errorf("open the copy: %w", err)
		}
		w.syncing.Lock()
		w.file = file
		w.syncing.Unlock()
	}
	if w.ragged {
		if err := w.file.Truncate(w.offset); err != nil {
			return fmt.Errorf("truncate a failed write: %w", err)
		}
		w.ragged = false
	}
	return nil
}

// segment makes the active segment. Readers have a file of their own.
func (w *copyFile) segment(first event.Seq) *segment {
	return &segment{fs: w.fs, first: first, path: filepath.Join(w.dir, activeName), lent: true}
}

// write writes lines to the end of the active file.
func (w *copyFile) write(text []byte) error {
	if err := disk.WriteAll(w.file, text, w.offset); err != nil {
		w.ragged = w.file.Truncate(w.offset) != nil
		return fmt.Errorf("write the copy: %w", err)
	}
	return nil
}

// begin gives the active file its final name, and goes on in a new file that begins
// with the lines. A crash in between leaves the next opening one of the two.
func (w *copyFile) begin(file event.Seq, text []byte) error {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if err := w.bring(); err != nil {
		return err
	}
	next := filepath.Join(w.dir, nextName)
	if err := w.fs.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("begin a file of the copy: %w", err)
	}
	fresh, err := newLogFile(w.fs, next, writing(text))
	if err != nil {
		return fmt.Errorf("begin a file of the copy: %w", err)
	}
	// A reader that opens the segment between the renames and seal would get the new file.
	if _, err := w.seg.acquire(); err != nil {
		return errors.Join(err, fresh.Close())
	}
	defer func(old *segment) { old.release() }(w.seg)
	sealed := filepath.Join(w.dir, sealedName(w.seg.first, file-1))
	swapped, err := w.active.swap(sealed)
	if !swapped {
		if !w.active.is(w.file) { // only another opening puts it right
			w.shut()
		}
		return fmt.Errorf("begin a file of the copy: %w", errors.Join(err, fresh.Close()))
	}
	if err != nil {
		w.opts.Logger.Warn("names of a copy may not be durable", "session", w.id, "err", err)
	}
	old := w.file
	w.file, w.offset, w.indexed = fresh, 0, 0
	w.seg.seal(sealed, file-1)
	w.seg.rest()
	w.seg = w.segment(file)
	w.segs.push(w.seg)
	return old.Close() // it was synced
}

// publish makes the written lines visible.
func (w *copyFile) publish(end copyEnd, text []byte, lines []written) {
	for i := range lines {
		line := &lines[i]
		if at := w.offset + int64(line.start); at == 0 || at-w.indexed >= logfile.IndexStep {
			w.seg.index.Add(line.seq, at)
			w.indexed = at
		}
		if w.tail.Wanted() {
			w.tail.Add(line.seq, text[line.start:line.body])
		}
	}
	if end.epoch != w.end.epoch {
		w.epoch.Store(&end.epoch)
	}
	final := lines[len(lines)-1]
	if at, ok := timeOf(text[final.start:final.body]); ok {
		w.touched.Store(at.UnixMicro())
	}
	w.end, w.offset, w.wrote = end, w.offset+int64(len(text)), w.opts.Now()
	w.marks.wrote(position{seq: end.seq, first: w.seg.first, offset: w.offset, sum: end.sum}, nil)
	w.bell.Ring()
	if !w.dirty.Swap(true) {
		w.poke()
	}
}

// sync syncs the lines written so far.
func (w *copyFile) sync() error {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if !w.dirty.Swap(false) || w.file == nil {
		return nil
	}
	err := w.bring()
	if err == nil {
		err = w.active.named(w.file)
	}
	if err != nil {
		w.dirty.Store(true)
		return fmt.Errorf("sync the copy of session %s: %w", w.id, err)
	}
	return nil
}

// bring syncs the active file. After a failed sync it first writes the lines again
// that were not synced. The caller holds syncing.
func (w *copyFile) bring() error {
	written, synced := w.marks.positions()
	if synced.seq >= written.seq {
		return nil
	}
	if w.doubtful {
		from := int64(0)
		if synced.first == written.first {
			from = synced.offset
		}
		if err := renew(w.file, logfile.Span{Offset: from, Size: written.offset - from}); err != nil {
			return err
		}
	}
	if err := w.file.Datasync(); err != nil {
		w.doubtful = true
		return err
	}
	w.doubtful = false
	w.marks.reached(written)
	return nil
}

// restIfIdle frees what an idle copy does not need. It reports whether the copy is not
// idle yet.
func (w *copyFile) restIfIdle() (awake bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opts.Now().Sub(w.wrote) < w.opts.IdleAfter {
		return true, nil
	}
	w.syncing.Lock()
	defer w.syncing.Unlock()
	w.tail.Drop()
	for _, seg := range w.segs.all() {
		seg.rest()
	}
	if w.file == nil || w.dirty.Load() {
		return w.dirty.Load(), nil
	}
	file := w.file
	w.file = nil
	return false, file.Close()
}

// retain removes the complete files with events below a seq only.
func (w *copyFile) retain(below event.Seq) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return journal.ErrClosed
	}
	gone := w.segs.shift(below)
	if len(gone) == 0 {
		return nil
	}
	w.marks.remove(w.segs.all()[0].first)
	for _, seg := range gone { // oldest first, so that a crash leaves no hole
		if err := errors.Join(seg.retire(), w.fs.Remove(seg.currentPath())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old events of a copy: %w", err)
		}
	}
	return w.fs.SyncDir(w.dir)
}

// close syncs the copy and closes its files. Readers get ErrClosed.
func (w *copyFile) close() error {
	err := w.sync()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncing.Lock()
	defer w.syncing.Unlock()
	return errors.Join(err, w.shut())
}

// shut closes the files. The caller holds both locks.
func (w *copyFile) shut() error {
	if w.closed.Swap(true) {
		return nil
	}
	errs := []error{w.segs.close()}
	if w.file != nil {
		errs = append(errs, w.file.Close())
		w.file = nil
	}
	w.tail.Drop()
	w.bell.Wait()
	w.bell.RingNow()
	return errors.Join(errs...)
}

// adopt takes the state that was found in the files.
func (w *copyFile) adopt(found *foundCopy) {
	w.end, w.wrote = found.end, w.opts.Now()
	w.epoch.Store(&found.end.epoch)
	w.touched.Store(found.at.UnixMicro())
	w.segs.list = slices.Clone(found.sealed)
	first, end := event.Seq(1), position{seq: found.end.seq}
	if found.active != nil {
		w.seg, w.offset, w.indexed = found.active, found.offset, found.offset
		w.segs.list = append(w.segs.list, found.active)
		end = position{seq: found.end.seq, first: found.active.first, offset: found.offset, sum: found.end.sum}
	}
	if len(w.segs.list) > 0 {
		first = w.segs.list[0].first
	}
	w.marks.reset(first, end)
	if found.active != nil { // a killed process may not have synced it
		w.marks.distrust(position{seq: end.first - 1, first: end.first})
	}
}
