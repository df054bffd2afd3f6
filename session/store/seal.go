package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// seal gives the active file its final name and starts a new one. The new file is
// created and locked first, under a temporary name, so that after a failure the log
// continues in the old file. The caller holds the write lock.
func (w *writer) seal() error { return w.sealAt(w.opts.Now()) }

// sealAt is seal with the time of the new file's first line.
func (w *writer) sealAt(at time.Time) error {
	p := &w.out
	if err := w.sync.syncTo(context.Background(), p.next-1); err != nil {
		return err
	}
	last := p.next - 1
	written, _ := w.marks.positions()
	file, final, err := w.makeSegment(written, at)
	if err != nil {
		w.opts.Logger.Warn("log cannot be sealed; it continues in the same file", "session", w.id, "err", err)
		return nil
	}
	sealed := filepath.Join(w.dir, sealedName(p.seg.first, last))
	swapped, err := w.active.swap(sealed)
	if swapped {
		w.beginFile(sealed, last, file, final, err == nil)
		if err == nil {
			return nil
		}
	} else if err = errors.Join(err, file.Close()); w.active.is(p.file) {
		w.opts.Logger.Warn("log cannot be sealed; it continues in the same file", "session", w.id, "err", err)
		return nil
	}
	// Events written now could go to a file whose name says that it is complete, or
	// to one whose name a power cut removes.
	w.freeze(fmt.Errorf("seal log: %w", err))
	return w.health.refusal()
}

// makeSegment creates the file of a new segment under a temporary name, locked and
// synced. It begins with a segment_start and continues after the line at before.
func (w *writer) makeSegment(before position, at time.Time) (File, firstLine, error) {
	first := before.seq + 1
	data, err := json.Marshal(event.SegmentStart{
		Format: logFormat, SessionID: w.id, Epoch: w.meta.Epoch(), FirstSeq: first, Prev: logfile.Hex(before.sum), Made: w.meta.made(),
	})
	if err != nil {
		return nil, firstLine{}, err
	}
	text, sum, err := logfile.Encode(nil, first, event.Draft{Type: event.TypeSegmentStart, Time: at, Data: data})
	if err != nil {
		return nil, firstLine{}, err
	}
	path := filepath.Join(w.dir, nextName)
	if err := w.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, firstLine{}, err
	}
	file, err := newLogFile(w.fs, path, writing(text))
	if err != nil {
		return nil, firstLine{}, err
	}
	return file, firstLine{position{seq: first, first: first, offset: int64(len(text)), sum: sum}, logfile.Body(text)}, nil
}
