package store

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

// recovery opens one log for writing: it decides which files and lines belong to
// it, repairs the files, and gives it a new epoch if acknowledged events may have
// been lost. Running it again changes nothing.
//
// The order matters. Bytes are copied to quarantine before they are truncated. The
// log is synced before the metadata describes it. The metadata is written last.
// After a crash in between, the next recovery does the same again.
type recovery struct {
	inspection
	log     *Log
	suspect bool      // a sync failed in this run: see reopen
	actions []string  // the repairs made, for a person
	changed bool      // the metadata on disk must be written
	wrote   time.Time // the time of the last line that recovery appended
}

func newRecovery(l *Log, before prior) *recovery {
	return &recovery{
		inspection: inspection{fs: l.fs, dir: l.dir, id: l.id, boot: l.opts.BootID, crashed: before.crashed},
		log:        l, suspect: before.suspect,
	}
}

// did records an action to report.
func (r *recovery) did(format string, args ...any) {
	r.actions = append(r.actions, fmt.Sprintf(format, args...))
	r.changed = true
}

// firstSeqOf returns the first readable seq. Events that the metadata counts below
// the first file are lost: retention records what it removes before it does.
func (r *recovery) firstSeqOf(list []*segment) event.Seq {
	first := list[0].first
	if r.hasMeta && r.meta.MinSeq > 0 {
		first = min(first, r.meta.MinSeq)
	}
	return first
}
