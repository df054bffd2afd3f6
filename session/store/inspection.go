package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// inspection is the result of reading the files of one session. It changes nothing.
// Recovery and Check share it, so that they agree.
type inspection struct {
	fs      FS
	dir     string
	id      string
	boot    string // boot id of the machine; empty if unknown
	crashed bool   // the machine stopped while a hub had the data directory open

	meta     journal.Metadata
	hasMeta  bool
	doubtful bool // the metadata's checksum is missing or wrong

	sealed  []*segment
	active  *segment
	scan    *logfile.Scan
	epoch   string
	trusted bool // the checkpoint holds, so only the lines after it were read
}

// readMeta reads the metadata. After an error there is none, except for its texts
// if it is doubtful.
func (i *inspection) readMeta() error {
	m, err := readMetadata(i.fs, i.dir)
	i.hasMeta, i.doubtful = err == nil, errors.Is(err, errDoubtful)
	switch {
	case err == nil && m.Format > metadataFormat:
		i.hasMeta = false
		err = fmt.Errorf("%w: %s has format %d", journal.ErrFormat, metadataName, m.Format)
	case err == nil:
		i.meta = m
		i.noticeCopy()
	case i.doubtful:
		i.meta = wordsOf(m)
	default:
		i.meta = journal.Metadata{SessionID: i.id}
	}
	return err
}

// firstSeq is the seq with which the active file should begin. Its first line may
// have another.
func (i *inspection) firstSeq(file File) (event.Seq, error) {
	first := max(i.meta.MinSeq, 1)
	if n := len(i.sealed); n > 0 {
		return max(first, i.sealed[n-1].last+1), nil
	}
	if i.hasMeta {
		return first, nil
	}
	size, err := disk.Size(file)
	if err != nil {
		return 0, fmt.Errorf("read log: %w", err)
	}
	o, err := logfile.OriginOf(file, size)
	return max(o.First, 1), err
}

// checkpointHolds reports whether the last synced line ends where the metadata
// says. Then everything before it is unchanged.
func (i *inspection) checkpointHolds(file File, size int64) (bool, error) {
	m := &i.meta
	if !i.hasMeta || m.LogFirst != i.active.first || m.SyncedSeq < m.LogFirst || m.LogBytes > size || m.LogBytes <= 0 || !logfile.IsEpoch(m.Epoch) {
		return false, nil
	}
	p, err := logfile.EndingAt(file, m.LogBytes)
	if err != nil {
		return false, err
	}
	return p.Quality != logfile.Bad && p.Seq == m.SyncedSeq && logfile.Hex(p.Sum) == m.TailCRC, nil
}

// endFits reports whether the whole log ends where the metadata says. A valid
// checkpoint is not enough, because invalid lines may follow it.
func (i *inspection) endFits() bool {
	m, end := &i.meta, i.scan.Good
	return m.SyncedSeq == end.Seq && m.LogBytes == end.Offset && m.TailCRC == logfile.Hex(end.Sum)
}

// ownActive reports whether the active file has its start line. It returns an
// *errForeign if that line names another session. The line is read even if the
// checkpoint holds, because earlier bytes may have been overwritten.
func (i *inspection) ownActive() (started bool, err error) {
	o, err := i.active.origin()
	if err == nil && o.Session != "" && o.Session != i.id {
		err = &errForeign{o.Session}
	}
	return o.Session != "", err
}

// restored reports whether the log's files or the metadata are copies of those that
// a hub wrote. They may be from an earlier time: the log may have continued, and
// readers may have seen later events.
func (i *inspection) restored() bool {
	return areOthers(i.fs, i.meta.LogBorn, i.active.path, i.sealed)
}

// noticeCopy records in the metadata that it was copied over its file, so that the
// fact survives a failed attempt to open the session.
func (i *inspection) noticeCopy() {
	if writtenOver(i.fs, i.dir, &i.meta) {
		i.meta.LogBorn = noFile
	}
}

// prevOf returns the checksum of the line before first, if that is the last line of
// the newest complete file.
func (i *inspection) prevOf(first event.Seq) string {
	if len(i.sealed) == 0 {
		return ""
	}
	last, err := i.sealed[len(i.sealed)-1].lastLine()
	if err != nil || last.Quality != logfile.Verified || last.Seq != first-1 {
		return ""
	}
	return logfile.Hex(last.Sum)
}

// Why a log gets a new epoch.
const (
	reasonLost    = "events that readers may have seen are missing or damaged"
	reasonStopped = "the machine stopped while the session was open"
	reasonCopy    = "restored from a copy; newer events may be missing"
	reasonUnknown = "the metadata or the first line of the log is damaged"
)

// epochReason returns why the log needs a new epoch; empty if it needs none.
func (i *inspection) epochReason() string {
	m := &i.meta
	other := i.hasMeta && !i.trusted && m.Epoch != "" && len(i.scan.Epochs) > 0 && !slices.Contains(i.scan.Epochs, m.Epoch)
	stopped := !i.hasMeta && i.crashed || i.hasMeta && i.boot != "" && m.Writer != nil && m.Writer.BootID != i.boot
	switch {
	case i.hasMeta && max(m.SyncedSeq, m.MaxSeq, m.FrozenSeq) > i.scan.Good.Seq, i.scan.Lost > 0:
		return reasonLost
	case i.doubtful, i.epoch == "":
		return reasonUnknown
	case other, i.restored():
		return reasonCopy
	case stopped:
		return reasonStopped
	}
	return ""
}

// writtenOver reports whether metadata with a right checksum was written over the
// old contents of its file. A store never does that; cp and rsync --inplace do, and
// then the log's files keep their birth times too. Metadata edited by a person has
// no right checksum and does not count.
func writtenOver(fsys FS, dir string, m *journal.Metadata) bool {
	now := bornOf(fsys, filepath.Join(dir, metadataName))
	return m.Born != "" && now != "" && m.Born != now
}
