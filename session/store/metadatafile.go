package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// metadataFile is a log's metadata in memory with its labels, and writes it to
// disk. It is safe for concurrent use.
type metadataFile struct {
	*core
	// readOnly means that the log waits to be repaired: only labels are written.
	readOnly func() bool
	// changed requests a call of save soon.
	changed func()

	mu      sync.Mutex
	meta    journal.Metadata // its numbers are filled in when it is read
	version uint64           // rises with every change of meta
	saved   uint64           // the version that is on disk

	writing sync.Mutex // held while the files are written; never by readers
	labels  labels     // as on disk; used by the holder of writing, and before that while the log is opened
}

// Metadata returns the summary for lists with the current numbers. The caller may
// keep and change it.
func (s *metadataFile) Metadata() journal.Metadata {
	s.mu.Lock()
	m := s.meta.Clone()
	s.mu.Unlock()
	marks := s.marks.snapshot()
	m.MinSeq, m.MaxSeq = marks.Min, marks.Visible
	m.EventCount = int64(max(marks.Visible-marks.Min+1, 0))
	m.SyncedSeq = marks.Synced
	m.UpdatedAt = s.updatedAt()
	if d := s.health.get().Damage; d != (journal.Damage{}) {
		m.Damage = &d
	}
	return m
}

// UpdateMetadata changes the fields that belong to the session; changes of the
// numbers are ignored. The change is in memory when it returns, and on disk soon:
// see FlushMetadata for now. f must not call the log.
func (s *metadataFile) UpdateMetadata(f func(*journal.Metadata)) {
	s.mu.Lock()
	now := s.meta
	next := now.Clone()
	f(&next)
	next = next.Clone() // f may have kept parts of it
	next.Format, next.SessionID = now.Format, now.SessionID
	next.EventCount, next.MinSeq, next.MaxSeq = now.EventCount, now.MinSeq, now.MaxSeq
	next.Epoch, next.Checkpoint, next.Writer, next.Damage = now.Epoch, now.Checkpoint, now.Writer, now.Damage
	next.Frozen, next.FrozenSeq = now.Frozen, now.FrozenSeq
	next.UpdatedAt = now.UpdatedAt
	s.meta = next
	s.version++
	s.mu.Unlock()
	s.changed()
}

// setWriter records in the metadata whether this run has the log open.
func (s *metadataFile) setWriter(w *journal.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta.Writer = w
	s.version++
}

// adopt takes the metadata of the same log after another recovery.
func (s *metadataFile) adopt(other *metadataFile) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.meta
	s.meta, s.version, s.saved, s.labels = other.meta, other.version, other.saved, other.labels
	s.keepWords(before)
	s.version++
}

// keepWords keeps the texts of the old metadata when the rest is replaced. The
// caller holds mu.
func (s *metadataFile) keepWords(before journal.Metadata) {
	label(&s.meta, labelsOf(&before))
	if before.Status == "" {
		return // nothing changed
	}
	s.meta.Status, s.meta.LastLine, s.meta.Mode = before.Status, before.LastLine, before.Mode
	s.meta.Interruptions = before.Interruptions
	if !s.meta.Named {
		s.meta.Name = before.Name
	}
}

// setFrozen records in the metadata that the device failed after the checkpoint, so
// that the next run does not trust the page cache.
func (s *metadataFile) setFrozen(frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta.Frozen = frozen
	s.version++
}

// saveMetadata writes labels.json and then metadata.json, if they changed. It
// counts synced events only, which a power cut cannot lose. For an unrepaired log
// it writes labels.json only.
func (s *metadataFile) saveMetadata() error {
	err := s.writeFiles()
	s.health.saved(err)
	return err
}

func (s *metadataFile) writeFiles() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	version := s.version // read before the metadata, which may change meanwhile and is then saved again
	s.mu.Unlock()
	m := s.Metadata()
	written, synced := s.marks.positions()
	s.mu.Lock()
	if synced.offset == 0 { // no more is known to be synced than before
		synced.seq = s.meta.SyncedSeq
		m.SyncedSeq = synced.seq
	}
	unchanged := version == s.saved && s.meta.SyncedSeq == synced.seq && s.meta.MinSeq == m.MinSeq
	s.mu.Unlock()
	if unchanged {
		return nil
	}
	if synced.offset > 0 {
		m.SyncedSeq, m.LogFirst, m.LogBytes = synced.seq, synced.first, synced.offset
		m.TailCRC = logfile.Hex(synced.sum)
		m.LogBorn = bornOf(s.fs, filepath.Join(s.dir, activeName))
	}
	m.MaxSeq = m.SyncedSeq
	m.EventCount = int64(max(m.SyncedSeq-m.MinSeq+1, 0))
	if m.Frozen {
		m.FrozenSeq = max(m.FrozenSeq, written.seq)
	} else {
		m.FrozenSeq = 0
	}
	if given := labelsOf(&m); !given.equal(s.labels) {
		if err := writeLabels(s.fs, s.dir, given); err != nil {
			return fmt.Errorf("session %s: %w", s.id, err)
		}
		s.labels = given
	}
	if s.readOnly() && !s.health.frozen.Load() {
		return nil
	}
	if err := writeMetadata(s.fs, s.dir, m); err != nil {
		return fmt.Errorf("session %s: %w", s.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = version
	s.meta.Checkpoint, s.meta.MinSeq, s.meta.FrozenSeq = m.Checkpoint, m.MinSeq, m.FrozenSeq
	return nil
}

// Epoch is the log's identity, 16 hex digits. It changes only while the log is
// opened or reopened, before it is read.
func (s *metadataFile) Epoch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta.Epoch
}

// made is the origin of the session.
func (s *metadataFile) made() event.Made {
	s.mu.Lock()
	defer s.mu.Unlock()
	return madeOf(&s.meta)
}

// updatedAt returns the time of the newest event.
func (s *metadataFile) updatedAt() time.Time {
	return logfile.Stamp(s.touched.Load()).Time()
}

// Label changes the labels of a session: Name where Named, Archived, Pinned, Tags. When
// it returns they are on the device; metadata.json follows. A change that cannot be
// written has no effect. ErrBlocked if there is no space. f must not call the log.
func (s *metadataFile) Label(f func(*journal.Metadata)) error {
	if s.closed.Load() {
		return journal.ErrClosed
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	m := s.meta.Clone()
	s.mu.Unlock()
	f(&m)
	if given := labelsOf(&m); !given.equal(s.labels) {
		if err := writeLabels(s.fs, s.dir, given); err != nil {
			// The rename may have happened.
			if writeLabels(s.fs, s.dir, s.labels) != nil {
				s.labels = labels{} // so that they are written with the metadata
			}
			return fmt.Errorf("session %s: %w", s.id, errors.Join(s.health.refusal(), blockedIfFull(err)))
		}
		s.labels = given
	}
	s.UpdateMetadata(f)
	return nil
}
