package store

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

// recovery opens one log for writing: it decides which files and lines belong to
// it, repairs the files, and gives it a new epoch if acknowledged history could
// have been lost. Doing it twice does nothing the second time.
//
// The order matters. Bytes are copied to quarantine before they are cut off; the
// log is on the device before the metadata speaks of it; the metadata is written
// last. A crash in between leaves a log that is recovered the same way again.
type recovery struct {
	inspection
	log     *Log
	suspect bool      // the device failed to sync it in this run: see reopen
	actions []string  // the repairs made, in words for people
	changed bool      // the metadata on disk must be written
	wrote   time.Time // the time of the last line that recovery appended
}

func newRecovery(l *Log, before prior) *recovery {
	return &recovery{
		inspection: inspection{fs: l.fs, dir: l.dir, id: l.id, boot: l.opts.BootID, crashed: before.crashed},
		log:        l, suspect: before.suspect,
	}
}

// did notes something worth telling.
func (r *recovery) did(format string, args ...any) {
	r.actions = append(r.actions, fmt.Sprintf(format, args...))
	r.changed = true
}

// firstSeqOf is the first seq that can be read. Events that the metadata counts
// below the first file were not removed by retention, which records that before:
// they are lost.
func (r *recovery) firstSeqOf(list []*segment) event.Seq {
	first := list[0].first
	if r.hasMeta && r.meta.MinSeq > 0 {
		first = min(first, r.meta.MinSeq)
	}
	return first
}
