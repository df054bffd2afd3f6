package store

import (
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// forewarn records two facts in the metadata, on the device, before the log is
// repaired, because the repaired log no longer shows them. First, the checkpoint
// does not hold; an added newline may make it fit although the newline is not
// synced. Second, lines at the end are damaged and are truncated.
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

// shown returns the last seq that readers are known to have seen. If whole lines at
// the end are damaged, it is a seq beyond the end of the log, which causes a new
// epoch.
func (r *recovery) shown() event.Seq {
	if r.scan.Lost > 0 {
		return r.scan.Good.Seq + 1
	}
	return r.scan.Good.Seq
}

// syncedEnd is the end of the part of the active file that is known to be synced:
// that of the checkpoint if it holds, else the start of the file.
func (r *recovery) syncedEnd() position {
	if !r.trusted {
		return position{seq: r.active.first - 1, first: r.active.first}
	}
	m := &r.meta
	return position{seq: m.SyncedSeq, first: m.LogFirst, offset: m.LogBytes, sum: logfile.ParseHex(m.TailCRC)}
}
