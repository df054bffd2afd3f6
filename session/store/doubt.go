package store

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// errDoubtful says that metadata can be read and its numbers cannot be right, so
// that none of them may be acted upon: by them files are removed, and seqs are
// given out.
var errDoubtful = errors.New("its numbers cannot be right")

// shortestLine is less than a line of a log takes, in bytes.
const shortestLine = 64

// mostUnsynced is more lines than a log takes before it is found that none of them
// was synced: a gigabyte of them.
const mostUnsynced = 1 << 24

// mostCut is more lines than a person is taken to have cut out of a file without
// checksums, from which nothing else says that they were there.
const mostCut = 1 << 16

// leaps reports whether a line without a checksum passes over more seqs than the
// bytes before it in its file could have held. A placeholder stands for each seq that
// is passed over, so one line written by hand could make a log without end.
func leaps(missing event.Seq, offset int64) bool {
	return int64(missing) > mostCut+offset/shortestLine
}

// doubt says why the numbers of the metadata, read from data, cannot be right,
// if they cannot, and whether data has a checksum. A file without one, say one that
// a person edited, is held to what its numbers say of each other.
func (m *Metadata) doubt(data []byte) (signed bool, err error) {
	line := bytes.TrimRight(data, "\n")
	if signed = bytes.Contains(line, []byte(crcKey)); signed {
		if body, sum, ok := cutCRC(line); !ok || crc32.Checksum(body, castagnoli) != sum {
			return signed, fmt.Errorf("%w: its checksum is wrong", errDoubtful)
		}
	}
	return signed, m.contradicts()
}

// contradicts says what the numbers of the metadata say against each other, if they
// do.
func (m *Metadata) contradicts() error {
	first := max(m.MinSeq, 1)
	if m.Checkpoint == (Checkpoint{}) && first == 1 {
		return nil // of no log yet
	}
	if m.MinSeq < 0 || m.MaxSeq != m.SyncedSeq || m.SyncedSeq > farSeq || m.LogFirst < first ||
		m.SyncedSeq < m.LogFirst || m.EventCount != int64(m.SyncedSeq-first+1) {
		return fmt.Errorf("%w: event_count %d, min_seq %d, log_first %d, max_seq %d, synced_seq %d",
			errDoubtful, m.EventCount, m.MinSeq, m.LogFirst, m.MaxSeq, m.SyncedSeq)
	}
	if m.FrozenSeq < 0 || m.FrozenSeq > m.SyncedSeq+mostUnsynced {
		return fmt.Errorf("%w: frozen_seq %d, synced_seq %d", errDoubtful, m.FrozenSeq, m.SyncedSeq)
	}
	return nil
}

// words is the metadata without what its numbers say. Who wrote it stays, and
// that the device failed: both make recovery more careful.
func (m Metadata) words() Metadata {
	m.EventCount, m.MinSeq, m.MaxSeq, m.FrozenSeq, m.Epoch = 0, 0, 0, 0, ""
	m.Checkpoint, m.Damage = Checkpoint{}, nil
	return m
}

// weigh compares what metadata without a checksum says of lines the log lacks with
// the bytes it says they took. Lines that were lost took some: seqs that could not
// have had a line were never given out, and no placeholder stands for them. What
// has its checksum was given out, whatever became of the log since.
func (r *recovery) weigh() error {
	m, end := &r.meta, r.scan.good
	if !r.hasMeta || r.signed || m.SyncedSeq <= end.seq && m.MaxSeq <= end.seq {
		return nil
	}
	lost, room := m.SyncedSeq-max(end.seq, m.LogFirst-1), m.LogBytes
	if m.LogFirst == r.active.first && end.offset <= m.LogBytes { // else it is another file
		room -= end.offset
	}
	if m.LogFirst >= r.active.first && m.MaxSeq == m.SyncedSeq && int64(lost) <= room/shortestLine {
		return nil
	}
	r.doubtful = true
	r.did("did not believe the metadata, which names seq %d: the log ends with seq %d, and %d bytes do not hold the rest",
		max(m.SyncedSeq, m.MaxSeq), end.seq, max(room, 0))
	m.SyncedSeq, m.MaxSeq = 0, 0
	return r.keepMetadata()
}

// keepMetadata copies a damaged metadata.json to quarantine, as it is about to
// be replaced. The log does not need it, so that there is no room for it stops
// nothing; what may be otherwise the next time is waited for.
func (r *recovery) keepMetadata() error {
	name, err := r.copyMetadata()
	switch {
	case withheld(err) && !isFull(err):
		return fmt.Errorf("keep the damaged metadata: %w", err)
	case err != nil:
		r.log.opts.Logger.Warn("damaged metadata cannot be kept", "session", r.log.id, "err", err)
	case name != "":
		r.did("the metadata as it was is in %s", name)
	}
	return nil
}

func (r *recovery) copyMetadata() (name string, err error) {
	file, err := r.fs.Open(filepath.Join(r.dir, metadataName))
	if err != nil {
		return "", err
	}
	defer file.Close() // only read from
	size, err := sizeOf(file)
	if err != nil || size == 0 {
		return "", err
	}
	name, _, err = quarantine(r.fs, r.dir, "metadata", file, span{0, size})
	return name, err
}
