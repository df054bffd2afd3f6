package store

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
	"github.com/abidehub/abide/session/store/packed"
)

// segment is one file of a log. Its file is opened for the first reader, and closed
// once the segment is retired and its last reader has released it.
type segment struct {
	fs    FS            // set at construction
	first event.Seq     // set at construction
	lent  bool          // set at construction: an active one's file is only read from
	index logfile.Index // locks itself

	looked  atomic.Bool // stray is known: see Log.chained
	looking sync.Mutex  // held while that is determined
	stray   atomic.Bool // it does not fit the chain

	mu      sync.Mutex
	path    string
	file    File      // nil until the first reader
	last    event.Seq // zero while active
	readers int
	retired bool
	resting bool // to be closed by its last reader, and opened again when needed
}

// acquire returns the segment's file; release must follow.
func (s *segment) acquire() (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return nil, journal.ErrClosed
	}
	if s.file == nil {
		f, err := openLogFile(s.fs, s.path)
		if err != nil {
			return nil, fmt.Errorf("open segment: %w", err)
		}
		s.file = f
	}
	s.readers++
	return s.file, nil
}

func (s *segment) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	if s.retired && s.readers == 0 && s.file != nil {
		s.file.Close() // the file was synced or is discarded
		s.file = nil
	}
	if s.resting && s.readers == 0 {
		s.closeForNow()
	}
}

// retire closes the file as soon as it has no reader.
func (s *segment) retire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	if s.readers > 0 || s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// rest closes the file of a sealed or lent segment until it is needed again, at once or when its
// readers have released it.
func (s *segment) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = (s.last != 0 || s.lent) && s.file != nil
	if s.resting && s.readers == 0 {
		s.closeForNow()
	}
	s.index.Drop()
}

// closeForNow is called with mu held and without readers.
func (s *segment) closeForNow() {
	s.resting = false
	if s.file != nil {
		s.file.Close() // only read from
		s.file = nil
	}
	s.looked.Store(false)
	s.stray.Store(false)
}

// openLogFile opens a file of a log, also a packed one.
func openLogFile(fsys FS, path string) (File, error) {
	return packed.Open(fsys, path, filepath.Join(filepath.Dir(path), derivedDir))
}

// seal says that the file was renamed and is complete.
func (s *segment) seal(path string, last event.Seq) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path, s.last = path, last
}

// lastSeq is the last seq of a complete file, by its name; zero of the active one.
func (s *segment) lastSeq() event.Seq {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *segment) currentPath() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// segments are the files of one log, oldest first. The last one is active. It is
// safe for concurrent use.
type segments struct {
	mu     sync.RWMutex
	list   []*segment
	closed bool
}

// at returns the segment that should contain seq, and the first seq of the next
// one, zero if that is the active one.
func (s *segments) at(seq event.Seq) (seg *segment, next event.Seq, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed || len(s.list) == 0 {
		return nil, 0, journal.ErrClosed
	}
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].first > seq })
	if i < len(s.list) {
		next = s.list[i].first
	}
	return s.list[max(i-1, 0)], next, nil
}

func (s *segments) all() []*segment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]*segment(nil), s.list...)
}

// push adds a new active segment.
func (s *segments) push(seg *segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, seg)
}

// replace replaces all segments and returns the old ones.
func (s *segments) replace(list []*segment) (old []*segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.list = s.list, list
	return old
}

// swapLast replaces the active segment by its copy.
func (s *segments) swapLast(seg *segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(append([]*segment(nil), s.list[:len(s.list)-1]...), seg)
}

// shift removes and returns the oldest segments whose events are all below min.
func (s *segments) shift(min event.Seq) []*segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.list)-1 && s.list[n+1].first <= min {
		n++
	}
	gone := s.list[:n:n]
	s.list = append([]*segment(nil), s.list[n:]...)
	return gone
}

// close retires every segment; running reads end first.
func (s *segments) close() error {
	s.mu.Lock()
	list := s.list
	s.closed = true
	s.mu.Unlock()
	var errs []error
	for _, seg := range list {
		errs = append(errs, seg.retire())
	}
	return errors.Join(errs...)
}

// sealedName returns the file name of a complete segment. The numbers are padded so
// that a shell's glob lists the files in order.
func sealedName(first, last event.Seq) string {
	return fmt.Sprintf("%s%012d-%012d%s", sealedPrefix, first, last, sealedSuffix)
}

// parseSealedName parses a name made by sealedName.
func parseSealedName(name string) (first, last event.Seq, ok bool) {
	rest, ok1 := strings.CutPrefix(name, sealedPrefix)
	rest, ok2 := strings.CutSuffix(rest, sealedSuffix)
	a, b, ok3 := strings.Cut(rest, "-")
	if !ok1 || !ok2 || !ok3 {
		return 0, 0, false
	}
	f, err1 := strconv.ParseInt(a, 10, 64)
	l, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil || f < 1 || l < f || event.Seq(l) > logfile.FarSeq {
		return 0, 0, false
	}
	return event.Seq(f), event.Seq(l), true
}

// sealedSegments lists the complete segments in dir, oldest first.
func sealedSegments(fsys FS, dir string) ([]*segment, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []*segment
	for _, n := range names {
		name := strings.TrimSuffix(n.Name(), packed.Suffix) // if both are there, they are the same lines
		if first, last, ok := parseSealedName(name); ok {
			list = append(list, &segment{fs: fsys, first: first, last: last, path: filepath.Join(dir, name)})
		}
	}
	slices.SortStableFunc(list, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
	return disjoint(list), nil
}

// disjoint leaves out complete files whose names overlap with the file before.
func disjoint(list []*segment) []*segment {
	var kept []*segment
	for _, s := range list {
		if n := len(kept); n == 0 || s.first > kept[n-1].last {
			kept = append(kept, s)
		}
	}
	return kept
}
