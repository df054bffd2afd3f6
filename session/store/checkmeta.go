package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// readMeta reads the metadata and reports its problems.
func (c *checking) readMeta() {
	switch err := c.inspection.readMeta(); {
	case err == nil:
	case withheld(err), errors.Is(err, disk.ErrNoFile):
		c.add(ProblemUnreadable, metadataName, 0, "%v", err)
	case errors.Is(err, journal.ErrFormat):
		c.add(ProblemUnreadable, metadataName, 0, "%v: use the program that wrote it", err)
	default:
		c.add(ProblemMetadata, metadataName, 0, "%s", whyNoMetadata(err))
	}
}

// minSeq returns the first seq according to the current metadata: retention may
// have continued since it was first read. Zero if unknown.
func (c *checking) minSeq() event.Seq {
	if !c.hasMeta {
		return 0
	}
	if m, err := readMetadata(c.fs, c.dir); err == nil {
		return max(c.meta.MinSeq, m.MinSeq)
	}
	return c.meta.MinSeq
}

// labels verifies that both copies of the labels are equal. Metadata from before
// there were labels has no second copy.
func (c *checking) labels() {
	given, err := readLabels(c.fs, c.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, disk.ErrNoFile):
		c.add(ProblemUnreadable, labelsName, 0, "%v", err)
	case err != nil:
		c.add(ProblemMetadata, labelsName, 0, "%s", whyNoMetadata(err))
	case c.hasMeta && !c.live && !given.equal(labelsOf(&c.meta)):
		c.add(ProblemMetadata, labelsName, 0, "name, pin, archive flag or tags are not those of %s", metadataName)
	}
}

// checkpoint verifies that the metadata names the line after which it was written.
func (c *checking) checkpoint(name string, s *logfile.Scan) {
	m := &c.meta
	c.ended = true
	switch {
	case m.SyncedSeq > s.Good.Seq:
		c.lost(name, s.Good.Seq)
	case m.SyncedSeq < s.Good.Seq && c.reached, m.LogBytes == 0:
		c.behind(s.Good.Seq)
	case m.SyncedSeq < s.Good.Seq:
		c.add(ProblemMetadata, metadataName, m.SyncedSeq, "it is behind the log, which ends with seq %d, and its line is not where it says", s.Good.Seq)
	case m.SyncedSeq != s.Good.Seq || m.LogBytes != s.Good.Offset || m.TailCRC != logfile.Hex(s.Good.Sum):
		c.add(ProblemMetadata, metadataName, m.SyncedSeq, "it has the end of %s at byte %d with crc %s, where it is at byte %d with crc %08x",
			name, m.LogBytes, m.TailCRC, s.Good.Offset, s.Good.Sum)
	case m.MaxSeq != m.SyncedSeq || m.EventCount != int64(m.MaxSeq-m.MinSeq+1):
		c.add(ProblemMetadata, metadataName, m.MaxSeq, "event_count %d, min_seq %d, max_seq %d, synced_seq %d", m.EventCount, m.MinSeq, m.MaxSeq, m.SyncedSeq)
	}
}

// behind notes that the metadata lags, which a crash may cause.
func (c *checking) behind(last event.Seq) {
	c.report.Notes = append(c.report.Notes, Problem{
		Session: c.id, Kind: ProblemMetadata, File: metadataName, Seq: c.meta.SyncedSeq, Repairable: true,
		Detail: fmt.Sprintf("it is behind the log, which ends with seq %d, as after a crash", last),
	})
}

// lost reports events after the end of the log that were once stored. Repair makes
// the metadata fit; the events are lost.
func (c *checking) lost(name string, last event.Seq) {
	c.add(ProblemHole, name, last+1, "what was stored from it up to seq %d is lost", c.meta.SyncedSeq)
	c.add(ProblemMetadata, metadataName, c.meta.SyncedSeq, "the log ends with seq %d", last)
}
