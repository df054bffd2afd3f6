package store

import (
	"encoding/json"
	"errors"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// scannedEnd is the end of the last good line of the active file.
func (r *recovery) scannedEnd() position {
	good := r.scan.Good
	return position{seq: good.Seq, first: r.active.first, offset: good.Offset, sum: good.Sum}
}

// settleEpoch gives the log a new epoch if acknowledged or visible events may have
// been lost, and returns the end of the log after that.
func (r *recovery) settleEpoch(file File) (position, error) {
	end := r.scannedEnd()
	// Continue after every seq that a client may have seen: rule 8 of docs/storage.md.
	known := max(end.seq, r.meta.SyncedSeq, r.meta.MaxSeq, r.meta.FrozenSeq)
	var payloads []event.Payload
	reason := r.epochReason()
	if reason != "" {
		r.epoch = journal.NewEpoch()
		payloads = append(payloads, event.Epoch{Epoch: r.epoch, Reason: reason})
		r.did("new epoch after seq %d: %s", known, reason)
	}
	if end.seq < r.active.first && len(r.sealed) > 0 {
		// There was a crash between sealing a file and creating the next, or an
		// older file replaced the active one.
		payloads = append([]event.Payload{event.SegmentStart{
			Format: logFormat, SessionID: r.log.id, Epoch: r.epoch, FirstSeq: known + 1, Prev: r.prevOf(known + 1), Made: madeOf(&r.meta),
		}}, payloads...)
		r.did("began a new file at seq %d", known+1)
	}
	if known > end.seq {
		payloads = append(payloads, event.LogTruncated{From: end.seq + 1, To: known})
		d := r.log.health.get().Damage
		d.Holes += int64(known - end.seq)
		r.log.health.setDamage(d)
	}
	if len(payloads) == 0 {
		return end, nil
	}
	var lines []byte
	for i, p := range payloads {
		data, err := json.Marshal(p)
		if err != nil {
			return end, err
		}
		r.wrote = r.log.opts.Now()
		d := event.Draft{Type: p.EventType(), Time: r.wrote, Data: data}
		if lines, end.sum, err = logfile.Encode(lines, known+1+event.Seq(i), d); err != nil {
			return end, err
		}
	}
	if err := disk.WriteAll(file, lines, end.offset); err != nil {
		return end, errors.Join(err, file.Truncate(end.offset))
	}
	if !r.meta.Frozen { // otherwise the file is copied: see reopen
		if err := r.datasync(file); err != nil {
			return end, err
		}
	}
	end.seq, end.offset = known+event.Seq(len(payloads)), end.offset+int64(len(lines))
	return end, nil
}
