package store

import (
	"bytes"
	"io"
	"time"

	"github.com/abidehub/abide/session/event"
)

// scan walks over a segment line by line and notes everything recovery, Check
// and the index need to know. It changes nothing.
type scan struct {
	order order
	// visit, if set, is called with every accepted line.
	visit func(p parsed, l rawLine)

	good lineEnd // end of the last good line
	end  int64   // end of what was looked at

	entries   []entry // for the index
	irregular bool    // a repeated line was met
	unended   bool    // the last good line lacks its newline

	holes      []hole
	repeats    []repeat
	badLines   []span // damaged lines with good ones behind them
	unverified int
	lost       int  // whole lines in the torn tail
	sawFirst   bool // a good line 1 was met
	epoch      string
	epochs     []string // all it had
	head       [64]byte // start of the last good line, for its time

	pending []span // damaged lines since the last good one
}

// lineEnd is the place behind a line.
type lineEnd struct {
	seq    event.Seq // of the line
	offset int64
	sum    uint32 // checksum of the line
}

// hole is a run of seqs that no line of the log has.
type hole struct{ from, to event.Seq }

// repeat is a line whose seq an earlier line has.
type repeat struct {
	seq    event.Seq
	offset int64
}

// span is a stretch of bytes in a file.
type span struct{ offset, size int64 }

// newScan starts behind the event of seq prev. Last is the last seq that the file can
// have; zero if it may have any.
func newScan(prev, last event.Seq) *scan {
	s := &scan{order: order{prev: prev, last: last}}
	s.good.seq = prev
	return s
}

// run looks at the bytes from..end of file, which begin a line.
func (s *scan) run(file io.ReaderAt, from, end int64) error {
	s.good.offset, s.end = from, end
	r := newLineReader(file, from, end)
	defer r.close()
	for {
		l, err := r.next()
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
func (s *scan) line(l rawLine) {
	var p parsed
	if !l.terminated && !l.overlong {
		// The newline was being written when the power failed: its place is on
		// the device, and its byte is not.
		whole := bytes.TrimRight(l.text, "\x00")
		l.size -= int64(len(l.text) - len(whole))
		l.text = whole
	}
	if !l.overlong {
		p = parseLine(l.text)
	}
	if !l.terminated && p.quality != verified {
		p = parsed{} // it was torn; else only its newline was not written
	}
	before := s.order.prev
	switch s.order.judge(p) {
	case damaged:
		s.pending = append(s.pending, span{l.offset, l.size})
		if l.terminated {
			s.lost++
		}
		return
	case repeated:
		s.irregular = true
		s.repeats = append(s.repeats, repeat{p.seq, l.offset})
	case accepted:
		if p.seq > before+1 {
			s.holes = append(s.holes, hole{before + 1, p.seq - 1})
		}
		if p.quality == unverified {
			s.unverified++
		}
		if n := len(s.entries); n == 0 || l.offset-s.entries[n-1].offset >= indexStep {
			s.entries = append(s.entries, entry{p.seq, l.offset})
		}
		s.good.seq, s.good.sum = p.seq, p.sum
		s.notice(p)
		if s.visit != nil {
			s.visit(p, l)
		}
	}
	s.good.offset = l.offset + l.size
	s.unended = !l.terminated
	s.badLines = append(s.badLines, s.pending...)
	s.pending, s.lost = s.pending[:0], 0
}

// notice keeps what single events say about the whole log.
func (s *scan) notice(p parsed) {
	clear(s.head[copy(s.head[:], p.body):])
	switch bodyType(p.body) {
	case event.TypeSessionStart, event.TypeEpoch, event.TypeSegmentStart:
	default:
		return
	}
	e, err := p.event()
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
			s.sawFirst = true
			s.believe(d.Epoch)
		}
	case event.Epoch:
		s.believe(d.Epoch)
	case event.SegmentStart:
		s.believe(d.Epoch)
	}
}

// believe takes the epoch that a line gives the log, if it is one.
func (s *scan) believe(epoch string) {
	if !isEpoch(epoch) {
		return
	}
	s.epoch = epoch
	if n := len(s.epochs); n == 0 || s.epochs[n-1] != epoch {
		s.epochs = append(s.epochs, epoch)
	}
}

// lastTime is the time of the last good line, if it has one.
func (s *scan) lastTime() (time.Time, bool) {
	text, ok := bodyTime(s.head[:])
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(event.TimeLayout, text)
	return at, err == nil
}

// torn is the stretch behind the last good line.
func (s *scan) torn() span { return span{s.good.offset, s.end - s.good.offset} }
