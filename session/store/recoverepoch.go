package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// settleEpoch gives the log a new identity if acknowledged or visible history
// could have been lost, and returns the end of the log after that.
func (r *recovery) settleEpoch(file File) (position, error) {
	end := position{seq: r.scan.good.seq, first: r.active.first, offset: r.scan.good.offset, sum: r.scan.good.sum}
	// Go on after whatever anybody may have seen: rule 6.
	known := max(end.seq, r.meta.SyncedSeq, r.meta.MaxSeq, r.meta.FrozenSeq)
	var payloads []event.Payload
	reason := r.epochReason()
	if reason != "" {
		r.epoch = newEpoch()
		payloads = append(payloads, event.Epoch{Epoch: r.epoch, Reason: reason})
		r.did("new epoch after seq %d: %s", known, reason)
	}
	if end.seq < r.active.first && len(r.sealed) > 0 {
		// A crash between sealing a file and beginning the next, or an older file in
		// the place of the active one.
		payloads = append([]event.Payload{event.SegmentStart{
			Format: logFormat, SessionID: r.log.id, Epoch: r.epoch, FirstSeq: known + 1, Prev: r.prevOf(known + 1), Made: r.meta.made(),
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
		d := event.Draft{Type: p.EventType(), Time: r.log.opts.Now(), Data: data}
		if lines, end.sum, err = encodeLine(lines, known+1+event.Seq(i), d); err != nil {
			return end, err
		}
	}
	if err := writeAt(file, lines, end.offset); err != nil {
		return end, errors.Join(err, file.Truncate(end.offset))
	}
	if !r.meta.Frozen { // else it is copied: see reopen
		if err := r.datasync(file); err != nil {
			return end, err
		}
	}
	end.seq, end.offset = known+event.Seq(len(payloads)), end.offset+int64(len(lines))
	copy(r.scan.head[:], lines[bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1:])
	return end, nil
}

// Why a log gets a new epoch.
const (
	reasonLost    = "events that readers may have seen are missing or damaged"
	reasonStopped = "the machine stopped while the session was open"
	reasonCopy    = "the files are a copy, or another log's: it may have gone on since"
	reasonUnknown = "the metadata or the first line of the log is damaged"
)

// epochReason says why the log needs a new epoch; empty if it needs none.
func (r *recovery) epochReason() string {
	m := &r.meta
	other := r.hasMeta && !r.trusted && m.Epoch != "" && len(r.scan.epochs) > 0 && !slices.Contains(r.scan.epochs, m.Epoch)
	stopped := !r.hasMeta && r.crashed || r.hasMeta && m.Writer != nil && m.Writer.BootID != r.log.opts.BootID
	switch {
	case r.hasMeta && max(m.SyncedSeq, m.MaxSeq, m.FrozenSeq) > r.scan.good.seq, r.scan.lost > 0:
		return reasonLost
	case r.doubtful, r.epoch == "":
		return reasonUnknown
	case other, r.restored():
		return reasonCopy
	case stopped:
		return reasonStopped
	}
	return ""
}

// prevOf is the checksum of the line before first, if it is the last line of the
// newest complete file.
func (r *recovery) prevOf(first event.Seq) string {
	if len(r.sealed) == 0 {
		return ""
	}
	last, err := r.sealed[len(r.sealed)-1].lastLine()
	if err != nil || last.quality != verified || last.seq != first-1 {
		return ""
	}
	return string(appendHex(nil, last.sum))
}
