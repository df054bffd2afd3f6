package logfile

import (
	"errors"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// IndexStep is how far apart the entries of an index are, in bytes of the file.
const IndexStep = 64 << 10

// Index finds the place of a seq in one file. It is sparse and filled as it
// is needed: by appends, by a scan, and by the searches that had to do without.
// It is safe for concurrent use. The zero Index knows nothing.
type Index struct {
	mu      sync.Mutex
	entries []entry // ascending in both fields
	// irregular says that seqs do not ascend with offsets everywhere, so that
	// only a scan from an entry finds a place. Such an index is complete.
	irregular bool
	// complete says that a scan has seen the whole file.
	complete bool
}

// entry is the start of the line of seq, which is the first with this seq.
type entry struct {
	seq    event.Seq
	offset int64
}

// Add remembers that the line of seq begins at offset, if that lies well apart from
// the known offsets.
func (x *Index) Add(seq event.Seq, offset int64) {
	e := entry{seq, offset}
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.entries)
	i := n
	if n > 0 && x.entries[n-1].offset >= e.offset {
		i = sort.Search(n, func(i int) bool { return x.entries[i].offset >= e.offset })
	}
	if i > 0 && e.offset-x.entries[i-1].offset < IndexStep || i < n && x.entries[i].offset-e.offset < IndexStep {
		return
	}
	if i > 0 && x.entries[i-1].seq >= e.seq || i < n && x.entries[i].seq <= e.seq {
		return // an offset that contradicts the known ones is ignored
	}
	x.entries = append(x.entries, entry{})
	copy(x.entries[i+1:], x.entries[i:])
	x.entries[i] = e
}

// Replace takes the result of a scan of the whole file. The index is complete then.
func (x *Index) Replace(s *Scan) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.entries, x.irregular, x.complete = s.entries, s.Irregular, true
}

// Extend adds the lines that a scan of a part of the file met.
func (x *Index) Extend(s *Scan) {
	for _, e := range s.entries {
		x.Add(e.seq, e.offset)
	}
}

// CopyOf takes over the index of a file, for a copy of that file.
func (x *Index) CopyOf(other *Index) {
	other.mu.Lock()
	defer other.mu.Unlock()
	x.entries, x.irregular, x.complete = slices.Clone(other.entries), other.irregular, other.complete
}

// IsComplete reports whether a scan has seen the whole file, so that a seq that Find does
// not lead to has no line.
func (x *Index) IsComplete() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.complete
}

// Drop forgets the offsets that Find can find again without a scan.
func (x *Index) Drop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.irregular {
		x.entries, x.complete = nil, false
	}
}

// around returns the last entry at or before seq (the zero entry if none is
// known) and the offset of the first one behind it (or end).
func (x *Index) around(seq event.Seq, end int64) (low entry, high int64, irregular bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].seq > seq })
	if i > 0 {
		low = x.entries[i-1]
	}
	high = end
	if i < len(x.entries) && !x.irregular {
		high = min(high, x.entries[i].offset)
	}
	return low, high, x.irregular
}

// Find returns the start of a line, and its seq, from which a short scan forward
// meets the line of seq. It is a known offset, or the result of a binary search on
// the leading seqs of file, whose size is end. At is zero for the start of the
// file.
func (x *Index) Find(file io.ReaderAt, seq event.Seq, end int64) (at event.Seq, offset int64, err error) {
	low, high, irregular := x.around(seq, end)
	if irregular {
		return low.seq, low.offset, nil
	}
	searched := false
	for high-low.offset > IndexStep {
		middle := low.offset + (high-low.offset)/2
		e, found, err := firstVerified(file, middle, high)
		if err != nil {
			return 0, 0, err
		}
		if !found || e.seq > seq {
			high = middle
			continue
		}
		low, searched = e, true
	}
	if searched {
		x.Add(low.seq, low.offset)
	}
	return low.seq, low.offset, nil
}

// firstVerified returns the first line with a right checksum that starts behind from
// and before end.
func firstVerified(file io.ReaderAt, from, end int64) (entry, bool, error) {
	r := newProbe(file, from, end)
	defer r.Close()
	// The first piece is the rest of a line, unless from is a line start; then
	// that line is found by a later probe.
	if _, err := r.Next(); err != nil {
		return entry{}, false, notEOF(err)
	}
	for {
		l, err := r.Next()
		if err != nil {
			return entry{}, false, notEOF(err)
		}
		if !l.terminated || l.Overlong {
			continue
		}
		if p := Parse(l.Text); p.Quality == Verified {
			return entry{seq: p.Seq, offset: l.Offset}, true, nil
		}
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// probeSize is how much a search reads at each step: a few lines.
const probeSize = 4 << 10

var probes = sync.Pool{New: func() any { b := make([]byte, probeSize); return &b }}

// newProbe is a Reader for a short look.
func newProbe(file io.ReaderAt, from, end int64) *Reader {
	return &Reader{file: file, end: end, base: from, window: probes.Get().(*[]byte)}
}
