package store

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

// untouched reports whether a complete file, open as file, was written last before
// the one after it began, as its segment_start says. Then nobody changed it since it
// was sealed, and its lines are in order. Where that cannot be said it is not.
func untouched(file File, after *segment) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	next, err := after.acquire()
	if err != nil {
		return false
	}
	defer after.release()
	size, err := sizeOf(next)
	if err != nil {
		return false
	}
	lines := newProbe(next, 0, size)
	defer lines.close()
	l, err := lines.next()
	if err != nil || !l.terminated || l.overlong {
		return false
	}
	p, ok := parseVerified(l.text)
	if !ok || p.seq != after.first || bodyType(p.body) != event.TypeSegmentStart {
		return false
	}
	began, ok := bodyTimeOf(p.body)
	return ok && !info.ModTime().Truncate(time.Microsecond).After(began)
}

// trust makes sure that a complete file is the log's own, else it is errStranger, and
// that places in it may be searched for: if somebody
// edited it, it is read as a whole first, so that of two lines of one seq every
// reader takes the first, wherever it begins. next is the first seq of the file
// after it.
func (l *Log) trust(seg *segment, file File, end int64, next event.Seq) error {
	if seg.looked.Load() {
		return seg.refusal()
	}
	seg.looking.Lock() // whoever reads the file needs the outcome
	defer seg.looking.Unlock()
	if seg.looked.Load() {
		return seg.refusal()
	}
	if session, err := l.kin().stranger(seg); err != nil {
		return err
	} else if session != "" {
		l.estrange(seg, session)
		return errStranger
	}
	after, _, err := l.segs.at(next)
	if err != nil {
		return err
	}
	if !untouched(file, after) {
		s, err := seg.study(file, end)
		if err != nil {
			return err
		}
		like, err := compareRepeats(file, seg.first, s, l.segs.before(seg))
		if err != nil {
			return err
		}
		l.health.sawConflicts(countOf(like, otherLine))
		l.health.sawUnverified(s.unverified)
	}
	seg.looked.Store(true)
	return nil
}

// study reads the whole segment and makes its index complete.
func (s *segment) study(file File, end int64) (*scan, error) {
	sc := newScan(s.first - 1)
	sc.last = s.lastSeq()
	if err := sc.run(file, 0, end); err != nil {
		return nil, err
	}
	s.index.replace(sc.entries, sc.irregular)
	return sc, nil
}

// examine looks into the complete files that somebody edited, which a hub does
// when they are first read.
func (r *recovery) examine() error {
	after := r.active
	for i := len(r.sealed) - 1; i >= 0; i-- {
		if err := r.examineFile(r.sealed[i], after, r.sealed[:i]); err != nil {
			return fmt.Errorf("look into a complete file: %w", err)
		}
		after = r.sealed[i]
	}
	return nil
}

func (r *recovery) examineFile(seg, after *segment, before []*segment) error {
	file, err := seg.acquire()
	if err != nil {
		return err
	}
	defer seg.release()
	if untouched(file, after) {
		return nil
	}
	size, err := sizeOf(file)
	if err != nil {
		return err
	}
	s, err := seg.study(file, size)
	if err != nil {
		return err
	}
	found, err := r.keepRepeats(file, seg.first, s, before)
	if err != nil {
		return err
	}
	r.log.health.sawConflicts(found)
	r.log.health.sawUnverified(s.unverified)
	return nil
}

// scanSegment looks at a whole sealed segment.
func scanSegment(seg *segment) (*scan, error) {
	file, err := seg.acquire()
	if err != nil {
		return nil, err
	}
	defer seg.release()
	size, err := sizeOf(file)
	if err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	s := newScan(seg.first - 1)
	s.last = seg.lastSeq()
	return s, s.run(file, 0, size)
}
