package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// readAhead is the buffer on the agent's output. Lines that are complete in
	// it are recorded together.
	readAhead = 256 << 10
	// batchLines bounds how many lines go into one Record.
	batchLines = 512
)

// errLineTooLong means that the agent's line exceeds the limit.
var errLineTooLong = errors.New("line longer than the cap")

// lineReader splits an agent's output into lines.
type lineReader struct {
	r     *bufio.Reader
	cap   int
	lines [][]byte // of the last batch
}

func newLineReader(r io.Reader, maxLine int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readAhead), cap: maxLine}
}

// next returns the next line without its end, in newly allocated memory. The last
// line may lack its newline; it is returned with a nil error, and io.EOF comes
// next. A line over the limit is errLineTooLong and ends the stream.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > l.cap+1 {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return withoutEnd(line), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// batch returns at least one line, and the others that are already complete in the
// buffer. It never waits for a second one. An error comes with the lines before it.
// The next call reuses the slice, but not the lines.
func (l *lineReader) batch() ([][]byte, error) {
	line, err := l.next()
	if err != nil {
		return nil, err
	}
	l.lines = append(l.lines[:0], line)
	// One copy for all: the session retains parts of it.
	ready, _ := l.r.Peek(l.r.Buffered())
	ready = bytes.Clone(ready[:bytes.LastIndexByte(ready, '\n')+1])
	taken := 0
	for line := range bytes.Lines(ready) {
		if len(l.lines) == batchLines {
			break
		}
		if len(line) > l.cap+1 {
			err = errLineTooLong
			break
		}
		l.lines = append(l.lines, withoutEnd(line))
		taken += len(line)
	}
	_, _ = l.r.Discard(taken) // it is buffered
	return l.lines, err
}

// withoutMark removes the mark of the byte order, with which programs of some systems
// begin their output.
func withoutMark(line []byte) []byte { return bytes.TrimPrefix(line, []byte("\ufeff")) }

func withoutEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
