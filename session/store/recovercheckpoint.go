package store

import (
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// forewarn records in the metadata, on the device and before the log is repaired,
// two facts that the repaired log no longer shows: that the checkpoint does not
// hold, which a line that is ended may make fit although its newline is not on the
// device, and that lines at the end are damaged, which are cut off.
func (r *recovery) forewarn() error {
	givesUp := !r.trusted && r.meta.LogBytes > 0 && r.meta.LogFirst == r.active.first
	if !r.hasMeta || r.doubtful || !givesUp && r.scan.Lost == 0 {
		return nil
	}
	if givesUp {
		r.meta.LogBytes = 0
	}
	m := r.meta
	if r.scan.Lost > 0 {
		m.FrozenSeq = max(m.FrozenSeq, r.shown())
	}
	return writeMetadata(r.fs, r.dir, m)
}

// shown is the last seq that readers are known to have seen; one beyond the end of
// the log, for which it gets a new epoch, if whole lines at the end are damaged.
func (r *recovery) shown() event.Seq {
	if r.scan.Lost > 0 {
		return r.scan.Good.Seq + 1
	}
	return r.scan.Good.Seq
}

// syncedEnd is the end of the part of the active file that is known to be on the
// device: that of the checkpoint if it holds, else the start of the file.
func (r *recovery) syncedEnd() position {
	if !r.trusted {
		return position{seq: r.active.first - 1, first: r.active.first}
	}
	m := &r.meta
	return position{seq: m.SyncedSeq, first: m.LogFirst, offset: m.LogBytes, sum: logfile.ParseHex(m.TailCRC)}
}
