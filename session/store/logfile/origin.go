package logfile

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

// Origin is the data of the session_start or segment_start of a file.
type Origin struct {
	// Session is the session's id; empty if the file has no start line.
	Session string
	// First is the first seq of the file.
	First event.Seq
	// Prev is the checksum of the line before First, as Hex writes it; empty in older
	// logs and in a session's first file.
	Prev string
	// Made is the origin of the session.
	Made event.Made
}

// OriginOf reads the start line of a file. A line whose checksum is wrong is
// ignored. The zero Origin is that of a file without a start line.
func OriginOf(file io.ReaderAt, size int64) (Origin, error) {
	lines := newProbe(file, 0, min(size, prelude))
	defer lines.Close()
	for {
		l, err := lines.Next()
		if err != nil {
			return Origin{}, notEOF(err)
		}
		if l.Overlong {
			continue
		}
		if p := Parse(l.Text); p.Quality == Verified {
			if o := p.origin(); o.Session != "" {
				return o, nil
			}
		}
	}
}

// origin is the Origin in a line, if it is a start line.
func (p Line) origin() (o Origin) {
	switch bodyType(p.Body) {
	case event.TypeSessionStart, event.TypeSegmentStart:
	default:
		return o
	}
	e, err := p.Event()
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
			o = Origin{Session: d.SessionID, First: 1, Made: event.Made{
				Agent: d.Agent, Workspace: d.Workspace, ProjectRoot: d.ProjectRoot, CreatedBy: d.CreatedBy, CreatedByID: d.CreatedByID,
				RequestKey: d.RequestKey, RequestHash: d.RequestHash, CreatedAt: &e.Time, Policy: d.Policy, ForkedFrom: d.ForkedFrom, Adopted: d.Adopted, Worktree: d.Worktree,
			}}
		}
	case event.SegmentStart:
		o = Origin{Session: d.SessionID, First: d.FirstSeq, Prev: d.Prev, Made: d.Made}
	}
	return o
}

// EndingAt reads the line whose newline is the byte before end. It is bad if there
// is none. The caller owns its memory.
func EndingAt(file io.ReaderAt, end int64) (Line, error) {
	for size := int64(probeSize); ; size *= 4 {
		size = min(size, end)
		buf := make([]byte, size)
		if _, err := file.ReadAt(buf, end-size); err != nil {
			if errors.Is(err, io.EOF) {
				return Line{}, nil
			}
			return Line{}, fmt.Errorf("read log: %w", err)
		}
		if buf[size-1] != '\n' {
			return Line{}, nil
		}
		line := buf[:size-1]
		if at := bytes.LastIndexByte(line, '\n'); at >= 0 {
			return Parse(line[at+1:]), nil
		}
		if size == end {
			return Parse(line), nil
		}
		if size > longestLine {
			return Line{}, nil
		}
	}
}
