package store

import (
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// strays tells of files with lines of a log that have another name than those of a log
// have: somebody renamed them, and nothing reads them. A copy beside the file itself
// is nobody's loss, and not told.
func (c *checking) strays(list []*segment) {
	names, err := c.fs.ReadDir(c.dir)
	if err != nil {
		return // which was said
	}
	for _, n := range names {
		if _, _, complete := parseSealedName(n.Name()); complete || n.Name() == activeName || isHalfMade(n.Name()) || !n.Type().IsRegular() {
			continue
		}
		file, err := c.fs.Open(filepath.Join(c.dir, n.Name()))
		if err != nil {
			continue
		}
		first, last, of := linesOf(file)
		file.Close() // only read from
		switch {
		case first == 0:
		case of != "" && of != c.id:
			c.add(ProblemStray, n.Name(), first, "it has lines up to seq %d and %s; nothing reads it here", last, belongsTo(of))
		case last >= c.minSeq() && !covered(list, first, last):
			c.add(ProblemStray, n.Name(), first, "it has lines up to seq %d that no file of the log has; rename it to %s", last, sealedName(first, last))
		}
	}
}

// linesOf says which seqs a file begins and ends with, if it is a file of a log, and
// whose.
func linesOf(file File) (first, last event.Seq, of string) {
	size, err := sizeOf(file)
	if err != nil || size == 0 {
		return 0, 0, ""
	}
	lines := newProbe(file, 0, size)
	defer lines.close()
	l, err := lines.next()
	if err != nil || l.overlong {
		return 0, 0, ""
	}
	begin := parseLine(l.text)
	end, ok, err := lineEndingAt(file, size)
	if err != nil || !ok || begin.quality != verified {
		return 0, 0, ""
	}
	if p := parseLine(end); p.quality == verified && p.seq >= begin.seq {
		return begin.seq, p.seq, begin.origin().session
	}
	return 0, 0, ""
}

// covered reports whether a file of the log has any of these seqs.
func covered(list []*segment, first, last event.Seq) bool {
	for _, seg := range list {
		if end := seg.lastSeq(); seg.first <= last && (end == 0 || end >= first) {
			return true
		}
	}
	return false
}
