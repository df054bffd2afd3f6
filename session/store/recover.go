package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// run recovers the log. file is the active file, locked.
func (r *recovery) run(file File) error {
	if err := r.readMeta(); err != nil {
		return err
	}
	r.removeStale()
	if err := r.findSegments(file); err != nil {
		return err
	}
	if err := r.scanActive(file); err != nil {
		return err
	}
	if err := r.repairTail(file); err != nil {
		return fmt.Errorf("repair the end of the log: %w", err)
	}
	if !r.hasMeta {
		if err := r.rebuild(); err != nil {
			return fmt.Errorf("rebuild the metadata: %w", err)
		}
	}
	end, err := r.settleEpoch(file)
	if err != nil {
		return fmt.Errorf("give the log a new epoch: %w", err)
	}
	return r.adopt(file, end)
}

// readMeta reads the metadata. If it is damaged or missing, it is rebuilt: rule 7 of
// docs/storage.md. If the system cannot read it now, the session cannot be opened now.
func (r *recovery) readMeta() error {
	err := r.inspection.readMeta()
	switch {
	case withheld(err), errors.Is(err, disk.ErrNoFile):
		return fmt.Errorf("read %s, without which the session would lose its epoch: %w", metadataName, err)
	case errors.Is(err, journal.ErrFormat):
		return err
	case err != nil:
		if err := r.loseMeta(err); err != nil {
			return err
		}
	}
	if err := r.readLabels(); err != nil {
		return err
	}
	r.suspectMeta()
	return nil
}

// loseMeta replaces damaged metadata by an empty one, which rebuild fills from the
// log. The damaged file is copied to quarantine.
func (r *recovery) loseMeta(why error) error {
	r.did("metadata rebuilt from the log: %s", whyNoMetadata(why))
	if errors.Is(why, fs.ErrNotExist) {
		return nil
	}
	return r.keepMetadata()
}

// removeStale removes incomplete files of a crash.
func (r *recovery) removeStale() {
	for _, did := range removeHalfMade(r.fs, r.dir) {
		r.did("%s", did)
	}
}

// findSegments lists the log's files. Sealed ones were synced and complete when
// they were named, so only the active one is looked into.
func (r *recovery) findSegments(file File) error {
	sealed, err := sealedSegments(r.fs, r.dir)
	if err != nil {
		return fmt.Errorf("list segments: %w", err)
	}
	for len(sealed) > 0 && sealed[0].last < r.meta.MinSeq {
		// Retention recorded this before it removed the file.
		removed, err := removeOld(sealed[0], sealed[1:], r.log.id)
		if err != nil {
			return fmt.Errorf("remove an old segment: %w", err)
		}
		if removed {
			r.did("removed events %d to %d, as retention had begun to", sealed[0].first, sealed[0].last)
		}
		sealed = sealed[1:]
	}
	r.sealed = sealed
	first, err := r.firstSeq(file)
	if err != nil {
		return err
	}
	r.active = &segment{fs: r.fs, first: first, path: filepath.Join(r.dir, activeName), file: file}
	return nil
}

// scanActive scans the active file: from the checkpoint if it holds, else from the
// start.
func (r *recovery) scanActive(file File) error {
	size, err := disk.Size(file)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if r.trusted, err = r.checkpointHolds(file, size); err != nil {
		return err
	}
	started, err := r.ownActive()
	if err != nil {
		return err
	}
	r.trusted = r.trusted && started
	if r.trusted {
		r.scan = logfile.NewScan(r.meta.SyncedSeq, 0)
		r.scan.Good.Sum = logfile.ParseHex(r.meta.TailCRC)
		if err := r.scan.Run(file, r.meta.LogBytes, size); err != nil {
			return err
		}
		r.epoch = r.meta.Epoch
		if r.meta.Irregular || r.scan.Irregular {
			if _, err := r.active.study(file, r.scan.Good.Offset); err != nil {
				return err
			}
		} else {
			r.active.index.Extend(r.scan)
		}
	} else {
		r.scan = logfile.NewScan(r.active.first-1, 0)
		if err := r.scan.Run(file, 0, size); err != nil {
			return err
		}
		if r.hasMeta && r.meta.LogFirst == r.active.first && !r.endFits() {
			r.did("read the whole log: the checkpoint at seq %d does not fit it", r.meta.SyncedSeq)
		}
		r.active.index.Replace(r.scan)
	}
	if r.scan.Epoch != "" {
		r.epoch = r.scan.Epoch
	}
	r.reportScan()
	return nil
}

// reportScan reports the permanent faults that the scan found.
func (r *recovery) reportScan() {
	d := journal.Damage{Unverified: r.scan.Unverified, Conflicts: len(r.scan.Repeats)}
	for _, h := range r.scan.Holes {
		d.Holes += int64(h.To - h.From + 1)
	}
	switch old := r.meta.Damage; {
	case old == nil:
	case r.trusted:
		d.Holes += old.Holes
		d.Unverified += old.Unverified
		d.Conflicts += old.Conflicts
	case r.endFits(): // nothing is new, and they may be of complete files
		d.Holes, d.Conflicts = max(d.Holes, old.Holes), max(d.Conflicts, old.Conflicts)
	}
	r.log.health.setDamage(d)
}

// repairTail truncates the torn tail after a copy of it is on the device, and syncs the
// remaining lines: steps 3 to 5 of "A torn tail" in docs/storage.md.
func (r *recovery) repairTail(file File) error {
	s, torn := r.scan, r.scan.Torn()
	if s.Good.Seq != r.meta.SyncedSeq || torn.Size > 0 || s.Unended {
		r.changed = true // the metadata is behind, or will be
	}
	if !r.changed && r.meta.Writer == nil && !r.meta.Frozen {
		return nil
	}
	if err := r.forewarn(); err != nil {
		return err
	}
	if torn.Size > 0 {
		name, _, err := quarantine(r.fs, r.dir, fmt.Sprintf("torn-%d", s.Good.Seq), file, torn)
		if err != nil {
			return err
		}
		if err := file.Truncate(torn.Offset); err != nil {
			return err
		}
		r.did("removed %d bytes behind seq %d; they are in %s", torn.Size, s.Good.Seq, name)
	}
	if s.Unended {
		if err := disk.WriteAll(file, []byte{'\n'}, s.Good.Offset); err != nil {
			return err
		}
		s.Good.Offset++
		r.did("ended the line of seq %d, which lacked its newline", s.Good.Seq)
	}
	if r.meta.Frozen {
		return nil // a sync would falsely report success; see reopen
	}
	from := int64(0)
	if r.trusted {
		from = r.meta.LogBytes
	}
	if err := renew(file, logfile.Span{Offset: from, Size: s.Good.Offset - from}); err != nil {
		return err
	}
	return r.datasync(file)
}

// adopt hands the recovered state to the log and writes the metadata.
func (r *recovery) adopt(file File, end position) error {
	l := r.log
	l.segs.list = append(r.sealed, r.active)
	minSeq := r.firstSeqOf(l.segs.list)
	r.reportFiles(minSeq)
	l.marks.reset(minSeq, end)
	l.writer.out.seg, l.writer.out.file = r.active, file
	l.writer.out.next, l.writer.out.offset, l.writer.out.indexed, l.writer.out.opened = end.seq+1, end.offset, end.offset, end
	l.touched.Store(r.newest().UnixMicro())
	irregular := r.meta.Irregular && r.meta.LogFirst == r.active.first || r.scan.Irregular
	if r.meta.Epoch != r.epoch || r.meta.Irregular != irregular || r.meta.Writer != nil || !sameDamage(r.meta.Damage, l.health.get().Damage) {
		r.changed = true
	}
	r.meta.Epoch, r.meta.Irregular = r.epoch, irregular
	l.metadataFile.meta = r.meta
	if r.meta.Frozen {
		r.reopen()
	} else {
		l.metadataFile.meta.Writer = nil
	}
	if r.changed {
		l.metadataFile.version++
		if err := l.saveMetadata(); err != nil {
			// The log itself is sound, and the metadata can be written later.
			l.opts.Logger.Warn("metadata cannot be written", "session", l.id, "err", err)
		}
	}
	for _, a := range r.actions {
		l.opts.Logger.Warn("log recovered", "session", l.id, "did", a)
	}
	return nil
}

// newest is the time of the last event of the log.
func (r *recovery) newest() time.Time {
	if !r.wrote.IsZero() {
		return r.wrote
	}
	if at, ok := r.scan.LastTime(); ok {
		return at
	}
	return r.meta.UpdatedAt
}

// sameDamage reports whether the metadata records the present damage.
func sameDamage(told *journal.Damage, d journal.Damage) bool {
	if told == nil {
		return d == journal.Damage{}
	}
	return *told == d
}

// reportFiles reports the number of events in missing files.
func (r *recovery) reportFiles(next event.Seq) {
	d := r.log.health.get().Damage
	before := int64(0)
	if r.meta.Damage != nil {
		before = r.meta.Damage.Missing
	}
	for _, seg := range r.log.segs.list {
		d.Missing += int64(max(seg.first-next, 0))
		next = max(next, seg.last+1)
	}
	if d.Missing != before {
		r.changed = true // and this repairs nothing
		r.log.opts.Logger.Warn("events are missing, with the files they were in", "session", r.log.id, "events", d.Missing)
	}
	r.log.health.setDamage(d)
}

// rebuild makes metadata from the events of the log.
func (r *recovery) rebuild() error {
	made, err := madeBy(append(slices.Clone(r.sealed), r.active), r.log.id)
	if err == nil && made != (event.Made{}) {
		takeMade(&r.meta, made)
	}
	return err
}

// keepMetadata copies a damaged metadata.json to quarantine before it is replaced.
// The log does not need the copy, so missing space does not stop recovery; another
// error, which may be temporary, does.
func (r *recovery) keepMetadata() error {
	name, err := r.copyMetadata()
	switch {
	case withheld(err) && !disk.IsFull(err):
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
	size, err := disk.Size(file)
	if err != nil || size == 0 {
		return "", err
	}
	name, _, err = quarantine(r.fs, r.dir, "metadata", file, logfile.Span{Size: size})
	return name, err
}
