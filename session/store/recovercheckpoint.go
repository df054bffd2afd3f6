package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/abidehub/abide/session/event"
)

// checkpointHolds reports whether the line the metadata calls the last synced
// one ends where it says. If so, all before it is as it was.
func (r *recovery) checkpointHolds(file File, size int64) (bool, error) {
	m := &r.meta
	if !r.hasMeta || m.LogFirst != r.active.first || m.SyncedSeq < m.LogFirst || m.LogBytes > size || m.LogBytes <= 0 || !isEpoch(m.Epoch) {
		return false, nil
	}
	line, ok, err := lineEndingAt(file, m.LogBytes)
	if err != nil || !ok {
		return false, err
	}
	p := parseLine(line)
	return p.quality != bad && p.seq == m.SyncedSeq && string(appendHex(nil, p.sum)) == m.TailCRC, nil
}

// forewarn has the metadata say, on the device and before anything of the log is
// mended, what the log shows no more once it is: that the checkpoint does not hold,
// which a line that is ended may make fit although its newline is not on the device,
// and that lines at the end are damaged, which are cut off.
func (r *recovery) forewarn() error {
	givesUp := !r.trusted && r.meta.LogBytes > 0 && r.meta.LogFirst == r.active.first
	if !r.hasMeta || r.doubtful || !givesUp && r.scan.lost == 0 {
		return nil
	}
	if givesUp {
		r.meta.LogBytes = 0
	}
	m := r.meta
	if r.scan.lost > 0 {
		m.FrozenSeq = max(m.FrozenSeq, r.shown())
	}
	return writeMetadata(r.fs, r.dir, m)
}

// shown is the last seq that readers are known to have seen; one beyond the end of
// the log, for which it gets a new epoch, if whole lines at the end are damaged.
func (r *recovery) shown() event.Seq {
	if r.scan.lost > 0 {
		return r.scan.good.seq + 1
	}
	return r.scan.good.seq
}

// lineEndingAt reads the line whose newline is the byte before end.
func lineEndingAt(file io.ReaderAt, end int64) ([]byte, bool, error) {
	for size := int64(probeSize); ; size *= 4 {
		size = min(size, end)
		buf := make([]byte, size)
		if _, err := file.ReadAt(buf, end-size); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, false, nil
			}
			return nil, false, fmt.Errorf("read log: %w", err)
		}
		if buf[size-1] != '\n' {
			return nil, false, nil
		}
		line := buf[:size-1]
		if at := bytes.LastIndexByte(line, '\n'); at >= 0 {
			return line[at+1:], true, nil
		}
		if size == end {
			return line, true, nil
		}
		if size > longestLine {
			return nil, false, nil
		}
	}
}
