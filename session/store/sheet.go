package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
)

// sheet is a log's metadata in memory and on its way to disk.
type sheet struct {
	mu      sync.Mutex
	meta    Metadata // the numbers in it are filled in when it is asked for
	version uint64   // grows with every change of meta
	saved   uint64   // the version that is on disk

	writing sync.Mutex // held while the files are written; never by readers
	labels  labels     // as on disk; used by who holds writing, and before that by who opens the log
}

// Metadata returns what lists show, with the numbers of this moment. The caller
// may keep and change it.
func (l *Log) Metadata() Metadata {
	l.sheet.mu.Lock()
	m := l.sheet.meta.clone()
	l.sheet.mu.Unlock()
	marks := l.marks.snapshot()
	m.MinSeq, m.MaxSeq = marks.Min, marks.Visible
	m.EventCount = int64(max(marks.Visible-marks.Min+1, 0))
	m.SyncedSeq = marks.Synced
	m.UpdatedAt = l.updatedAt()
	if d := l.health.get().Damage; d != (Damage{}) {
		m.Damage = &d
	}
	return m
}

// UpdateMetadata changes the fields that belong to the session; changes to the
// numbers are ignored. It takes effect in memory before it returns, and on disk
// soon: see FlushMetadata for now. f must not call the log.
func (l *Log) UpdateMetadata(f func(*Metadata)) {
	l.sheet.mu.Lock()
	now := l.sheet.meta
	next := now.clone()
	f(&next)
	next = next.clone() // f may have kept parts of it
	next.Format, next.SessionID = now.Format, now.SessionID
	next.EventCount, next.MinSeq, next.MaxSeq = now.EventCount, now.MinSeq, now.MaxSeq
	next.Epoch, next.Checkpoint, next.Writer, next.Damage = now.Epoch, now.Checkpoint, now.Writer, now.Damage
	next.Frozen, next.FrozenSeq = now.Frozen, now.FrozenSeq
	next.UpdatedAt = now.UpdatedAt
	l.sheet.meta = next
	l.sheet.version++
	l.sheet.mu.Unlock()
	l.keeper.poke()
}

// setWriter says on the sheet whether this run has the log open.
func (l *Log) setWriter(w *Writer) {
	l.sheet.mu.Lock()
	defer l.sheet.mu.Unlock()
	l.sheet.meta.Writer = w
	l.sheet.version++
}

// adopt takes over another sheet of the same log.
func (s *sheet) adopt(other *sheet) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.meta
	s.meta, s.version, s.saved, s.labels = other.meta, other.version, other.saved, other.labels
	s.keepWords(before)
	s.version++
}

// keepWords goes on with what was said of the session before the rest of the
// metadata was replaced. The caller holds mu.
func (s *sheet) keepWords(before Metadata) {
	s.meta.label(before.labels())
	if before.Status == "" {
		return // nothing was
	}
	s.meta.Status, s.meta.LastLine, s.meta.Mode = before.Status, before.LastLine, before.Mode
	if !s.meta.Named {
		s.meta.Name = before.Name
	}
}

// setFrozen says on the sheet that the device failed behind the checkpoint, so
// that the next run does not trust what the page cache still shows.
func (l *Log) setFrozen(frozen bool) {
	l.sheet.mu.Lock()
	defer l.sheet.mu.Unlock()
	l.sheet.meta.Frozen = frozen
	l.sheet.version++
}

// saveMetadata writes metadata.json if it would change, and before it labels.json
// if that would. It speaks of synced
// events only, so it never claims what a power cut can take back. Of an
// unmended log only labels.json is written.
func (l *Log) saveMetadata() error {
	err := l.writeSheet()
	l.health.saved(err)
	return err
}

func (l *Log) writeSheet() error {
	l.sheet.writing.Lock()
	defer l.sheet.writing.Unlock()
	l.sheet.mu.Lock()
	version := l.sheet.version // before what it is the version of, which may be newer and is then saved again
	l.sheet.mu.Unlock()
	m := l.Metadata()
	written, synced := l.marks.positions()
	l.sheet.mu.Lock()
	if synced.offset == 0 { // nothing is known to be on the device but what was said before
		synced.seq = l.sheet.meta.SyncedSeq
		m.SyncedSeq = synced.seq
	}
	unchanged := version == l.sheet.saved && l.sheet.meta.SyncedSeq == synced.seq && l.sheet.meta.MinSeq == m.MinSeq
	l.sheet.mu.Unlock()
	if unchanged {
		return nil
	}
	if synced.offset > 0 {
		m.SyncedSeq, m.LogFirst, m.LogBytes = synced.seq, synced.first, synced.offset
		m.TailCRC = string(appendHex(nil, synced.sum))
		m.LogBorn = bornOf(l.fs, filepath.Join(l.dir, activeName))
	}
	m.MaxSeq = m.SyncedSeq
	m.EventCount = int64(max(m.SyncedSeq-m.MinSeq+1, 0))
	if m.Frozen {
		m.FrozenSeq = max(m.FrozenSeq, written.seq)
	} else {
		m.FrozenSeq = 0
	}
	if given := m.labels(); given != l.sheet.labels {
		if err := writeLabels(l.fs, l.dir, given); err != nil {
			return fmt.Errorf("session %s: %w", l.id, err)
		}
		l.sheet.labels = given
	}
	if l.unmended.Load() != nil && !l.health.frozen.Load() {
		return nil
	}
	if err := writeMetadata(l.fs, l.dir, m); err != nil {
		return fmt.Errorf("session %s: %w", l.id, err)
	}
	l.sheet.mu.Lock()
	defer l.sheet.mu.Unlock()
	l.sheet.saved = version
	l.sheet.meta.Checkpoint, l.sheet.meta.MinSeq, l.sheet.meta.FrozenSeq = m.Checkpoint, m.MinSeq, m.FrozenSeq
	return nil
}

// errUnmarked says that a log cannot be written because its metadata cannot.
var errUnmarked = errors.New("the session's metadata cannot be written, so nothing is written to its log")

// markWriter puts on disk that this run writes the log, before its first line:
// after an unclean stop of the machine that line may be gone although somebody
// saw it, and only the mark tells the next run. Where it cannot be written nothing
// else is. The caller holds the pen.
func (l *Log) markWriter() error {
	if err := l.named(l.pen.file); err != nil {
		l.freeze(fmt.Errorf("wake log: %w", err))
		return l.health.refusal()
	}
	err := l.mark()
	switch {
	case err == nil:
		return nil
	case waitsForRoom(err):
		l.health.block(err)
		l.keeper.poke() // it tries again, and the log goes on once that has worked
		return fmt.Errorf("%w: %w", ErrBlocked, err)
	case errors.Is(err, fs.ErrNotExist):
		l.freeze(gone(err))
	default:
		// Nothing was written, so the metadata need not say that the device failed.
		l.health.freeze(fmt.Errorf("%w: %w", errUnmarked, err))
		l.opts.Logger.Error("log is frozen", "session", l.id, "err", err)
		l.keeper.poke()
	}
	return l.health.refusal()
}

// mark writes the metadata that names this run as the writer.
func (l *Log) mark() error {
	l.setWriter(&Writer{BootID: l.opts.BootID, RunID: l.runID})
	if err := l.saveMetadata(); err != nil {
		l.setWriter(nil) // the keeper writes the metadata of an idle log
		return err
	}
	l.pen.marked = true
	return nil
}
