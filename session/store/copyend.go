package store

import (
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// maxLost is the most seqs that a line may declare lost. A machine that lies could
// otherwise make readers of its copy compute placeholders for ever.
const maxLost = 1 << 24

// copyEnd is the end of a copy, which the next line must fit. Append and the opening of
// a copy decide by it alike. The zero copyEnd with an id is that of an empty copy.
type copyEnd struct {
	id    string
	seq   event.Seq // of the last line
	sum   uint32    // of the last line; zero if that is a placeholder, which has another
	epoch string
}

// accept moves the end behind a line, which lacks its newline, or says why the line
// does not fit. file is the first seq of the line's file, begins says that the line is
// the first in it.
func (e *copyEnd) accept(line []byte, file event.Seq, begins bool) (logfile.Line, error) {
	if len(line) >= logfile.MaxLine {
		return logfile.Line{}, fmt.Errorf("%w: it has %d bytes", ErrCopyDamaged, len(line)+1)
	}
	p, kind, ok := logfile.ParseStored(line)
	if !ok {
		return p, fmt.Errorf("%w: it is not as a log stores it", ErrCopyDamaged)
	}
	starts := kind == event.TypeSegmentStart || kind == event.TypeSessionStart && p.Seq == 1
	unread := kind == event.TypeCorrupt // the machine could not read its line
	if begins && !starts && !unread {
		return p, fmt.Errorf("%w: %s at seq %d begins a file", ErrCopyDamaged, kind, p.Seq)
	}
	declares := kind == event.TypeEpoch || begins && kind == event.TypeSegmentStart
	switch lost := p.Seq - e.seq - 1; {
	case begins && starts && e.seq == 0:
		// A copy may begin where retention left off.
	case lost < 0, lost > 0 && !declares, lost > maxLost, p.Seq > logfile.FarSeq:
		return p, fmt.Errorf("%w: it has seq %d, after %d", ErrCopyGap, p.Seq, e.seq)
	}
	epoch := e.epoch
	if starts || kind == event.TypeEpoch {
		var err error
		if epoch, err = e.fits(p, file, begins); err != nil {
			return p, err
		}
	}
	if e.seq, e.sum, e.epoch = p.Seq, p.Sum, epoch; unread {
		e.sum = 0
	}
	return p, nil
}

// fits returns the epoch that a line gives the log, or why a line that begins a file
// does not fit. A segment_start elsewhere came with an import.
func (e *copyEnd) fits(p logfile.Line, file event.Seq, begins bool) (string, error) {
	damaged := func(why string) error { return fmt.Errorf("%w: seq %d: %s", ErrCopyDamaged, p.Seq, why) }
	one, err := p.Event()
	if err != nil {
		return "", damaged(err.Error())
	}
	payload, err := one.Payload()
	if err != nil {
		return "", damaged(err.Error())
	}
	var start event.SegmentStart
	switch d := payload.(type) {
	case event.SessionStart:
		start = event.SegmentStart{Format: d.Format, SessionID: d.SessionID, Epoch: d.Epoch, FirstSeq: 1}
	case event.SegmentStart:
		start = d
	case event.Epoch:
		start.Epoch = d.Epoch
	}
	if begins {
		switch {
		case start.SessionID != e.id:
			return "", fmt.Errorf("%w: it is of session %q", ErrCopyForeign, start.SessionID)
		case start.Format > logFormat:
			return "", damaged(fmt.Sprintf("the log has format %d", start.Format))
		case start.FirstSeq != p.Seq || file > p.Seq || file < 1:
			return "", damaged("it names another first seq")
		case start.Prev != "" && p.Seq == e.seq+1 && e.sum != 0 && start.Prev != logfile.Hex(e.sum):
			return "", damaged("it follows another line")
		}
	}
	if !logfile.IsEpoch(start.Epoch) {
		if begins {
			return "", damaged("it names no epoch")
		}
		return e.epoch, nil
	}
	return start.Epoch, nil
}
