package logfile

import (
	"bytes"
	"io"
	"time"

	"github.com/abidehub/abide/session/event"
)

// Scan reads a file line by line and collects the facts that recovery, a check and
// an Index need. It changes nothing. One goroutine uses it.
type Scan struct {
	// Visit, if set before Run, is called with every accepted line.
	Visit func(Line, Raw)

	// Good is the end of the last good line: one that was accepted or repeated. Its Seq
	// and Sum are those of the last accepted one.
	Good End
	// Unended says that the last good line lacks its newline.
	Unended bool
	// Irregular says that a repeated line was met.
	Irregular bool
	// Holes are the seqs that no line has, ascending.
	Holes []Hole
	// Repeats are the lines that do not count because their seq, or a higher one, was
	// there before.
	Repeats []Repeat
	// BadLines are damaged lines with good ones behind them.
	BadLines []Span
	// Unverified is how many accepted lines have no right checksum.
	Unverified int
	// Lost is how many whole lines are in the torn tail.
	Lost int
	// SawFirst says that a session_start of seq 1 was met.
	SawFirst bool
	// Epoch is the last epoch that a line names; empty if none does.
	Epoch string
	// Epochs are all of them, in order.
	Epochs []string

	order   Order
	end     int64    // end of the scanned part
	entries []entry  // for the index
	head    [64]byte // start of the last good line, for its time
	pending []Span   // damaged lines since the last good one
}

// End is the place behind a line.
type End struct {
	// Seq is that of the line; before the first line, the seq that a scan starts behind.
	Seq event.Seq
	// Offset is in bytes, behind the newline.
	Offset int64
	// Sum is the checksum of the line.
	Sum uint32
}

// Hole is a run of seqs that no line has, both ends included.
type Hole struct{ From, To event.Seq }

// Repeat is a line whose seq, or a higher one, an earlier line has. Offset is its start,
// in bytes.
type Repeat struct {
	Seq    event.Seq
	Offset int64
}

// NewScan starts behind the event of seq prev. Last is the last seq that the file can
// have; zero if it may have any.
func NewScan(prev, last event.Seq) *Scan {
	s := &Scan{order: Order{Prev: prev, Last: last}}
	s.Good.Seq = prev
	return s
}

// Run looks at the bytes from..end of file, which begin a line. It is called once. The
// error is one of reading.
func (s *Scan) Run(file io.ReaderAt, from, end int64) error {
	s.Good.Offset, s.end = from, end
	r := NewReader(file, from, end)
	defer r.Close()
	for {
		l, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.line(l)
	}
}

// line notes one line.
func (s *Scan) line(l Raw) {
	var p Line
	if !l.terminated && !l.Overlong {
		// The newline was being written when the power failed: its place is on
		// the device, and its byte is not.
		whole := bytes.TrimRight(l.Text, "\x00")
		l.Size -= int64(len(l.Text) - len(whole))
		l.Text = whole
	}
	if !l.Overlong {
		p = Parse(l.Text)
	}
	if !l.terminated && p.Quality != Verified {
		p = Line{} // it was torn; else only its newline was not written
	}
	before := s.order.Prev
	switch s.order.judge(p) {
	case damaged:
		s.pending = append(s.pending, Span{l.Offset, l.Size})
		if l.terminated {
			s.Lost++
		}
		return
	case repeated:
		s.Irregular = true
		s.Repeats = append(s.Repeats, Repeat{p.Seq, l.Offset})
	case accepted:
		if p.Seq > before+1 {
			s.Holes = append(s.Holes, Hole{before + 1, p.Seq - 1})
		}
		if p.Quality == Unverified {
			s.Unverified++
		}
		if n := len(s.entries); n == 0 || l.Offset-s.entries[n-1].offset >= IndexStep {
			s.entries = append(s.entries, entry{p.Seq, l.Offset})
		}
		s.Good.Seq, s.Good.Sum = p.Seq, p.Sum
		s.notice(p)
		if s.Visit != nil {
			s.Visit(p, l)
		}
	}
	s.Good.Offset = l.Offset + l.Size
	s.Unended = !l.terminated
	s.BadLines = append(s.BadLines, s.pending...)
	s.pending, s.Lost = s.pending[:0], 0
}

// notice keeps the facts about the whole log that single events have.
func (s *Scan) notice(p Line) {
	clear(s.head[copy(s.head[:], p.Body):])
	switch bodyType(p.Body) {
	case event.TypeSessionStart, event.TypeEpoch, event.TypeSegmentStart:
	default:
		return
	}
	e, err := p.Event()
	if err != nil {
		return
	}
	payload, err := e.Payload()
	if err != nil {
		return
	}
	switch d := payload.(type) {
	case event.SessionStart:
		if e.Seq == 1 {
			s.SawFirst = true
			s.believe(d.Epoch)
		}
	case event.Epoch:
		s.believe(d.Epoch)
	case event.SegmentStart:
		s.believe(d.Epoch)
	}
}

// believe takes the epoch that a line gives the log, if it is one.
func (s *Scan) believe(epoch string) {
	if !IsEpoch(epoch) {
		return
	}
	s.Epoch = epoch
	if n := len(s.Epochs); n == 0 || s.Epochs[n-1] != epoch {
		s.Epochs = append(s.Epochs, epoch)
	}
}

// LastTime is the time of the last accepted line, if there is one.
func (s *Scan) LastTime() (time.Time, bool) {
	text, ok := BodyTime(s.head[:])
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(event.TimeLayout, text)
	return at, err == nil
}

// Torn is the scanned part behind the last good line.
func (s *Scan) Torn() Span { return Span{s.Good.Offset, s.end - s.Good.Offset} }
