package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/abidehub/abide/session/event"
)

// prelude bounds how far into a file its start line is looked for: a file made by
// reopening a frozen log has the lines that were not synced before it.
const prelude = 4 << 20

// origin is what the session_start or segment_start of a file says.
type origin struct {
	session string // empty if the file has no start line
	epoch   string
	first   event.Seq
	prev    string // checksum of the line before first; empty in older logs
	made    event.Made
}

// originOf reads the start line of a file. A line whose checksum is wrong is
// ignored.
func originOf(file io.ReaderAt, size int64) (origin, error) {
	lines := newProbe(file, 0, min(size, prelude))
	defer lines.close()
	for {
		l, err := lines.next()
		if err != nil {
			return origin{}, notEOF(err)
		}
		if l.overlong {
			continue
		}
		if p := parseLine(l.text); p.quality == verified {
			if o := p.origin(); o.session != "" {
				return o, nil
			}
		}
	}
}

// origin is what a line says of its file, if it is a start line.
func (p parsed) origin() (o origin) {
	switch bodyType(p.body) {
	case event.TypeSessionStart, event.TypeSegmentStart:
	default:
		return o
	}
	e, err := p.event()
	if err != nil {
		return o
	}
	payload, err := e.Payload()
	if err != nil {
		return o
	}
	switch d := payload.(type) {
	case event.SessionStart:
		if e.Seq == 1 {
			o = origin{session: d.SessionID, epoch: d.Epoch, first: 1, made: event.Made{
				Agent: d.Agent, Workspace: d.Workspace, ProjectRoot: d.ProjectRoot, CreatedBy: d.CreatedBy, CreatedByID: d.CreatedByID,
				RequestKey: d.RequestKey, RequestHash: d.RequestHash, CreatedAt: &e.Time,
			}}
		}
	case event.SegmentStart:
		o = origin{session: d.SessionID, epoch: d.Epoch, first: d.FirstSeq, prev: d.Prev, made: d.Made}
	}
	if !isEpoch(o.epoch) {
		o.epoch = ""
	}
	return o
}

// lineEndingAt reads the line whose newline is the byte before end. It is bad if there
// is none.
func lineEndingAt(file io.ReaderAt, end int64) (parsed, error) {
	for size := int64(probeSize); ; size *= 4 {
		size = min(size, end)
		buf := make([]byte, size)
		if _, err := file.ReadAt(buf, end-size); err != nil {
			if errors.Is(err, io.EOF) {
				return parsed{}, nil
			}
			return parsed{}, fmt.Errorf("read log: %w", err)
		}
		if buf[size-1] != '\n' {
			return parsed{}, nil
		}
		line := buf[:size-1]
		if at := bytes.LastIndexByte(line, '\n'); at >= 0 {
			return parseLine(line[at+1:]), nil
		}
		if size == end {
			return parseLine(line), nil
		}
		if size > longestLine {
			return parsed{}, nil
		}
	}
}
