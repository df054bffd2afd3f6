package store

import (
	"cmp"
	"path/filepath"
	"slices"
)

// overlap is a complete file by whose name it has seqs that another one has. No
// store makes such names: somebody copied or renamed a file.
type overlap struct {
	seg, with *segment
	ignored   bool // nothing reads seg
}

// disjoint takes out of the complete files of a log, which are in order, those that
// do not count because another has their seqs: one whose ends are not the lines its
// name says, beside one whose ends are, and one that lies within another. Of two that
// both count the later begins where its name says. Files are looked into only where
// names overlap.
func disjoint(list []*segment) (count []*segment, overlaps []overlap) {
	if !overlapping(list) {
		return list, nil
	}
	fits := make(map[*segment]bool, len(list))
	for _, s := range list {
		fits[s] = s.endsAsNamed()
	}
	best := slices.Clone(list)
	slices.SortStableFunc(best, func(a, b *segment) int {
		switch {
		case fits[a] && !fits[b]:
			return -1
		case fits[b] && !fits[a]:
			return 1
		}
		return cmp.Compare(b.last-b.first, a.last-a.first)
	})
	for _, s := range best {
		o := overlap{seg: s}
		for _, other := range count {
			if s.first > other.last || other.first > s.last {
				continue
			}
			o.with = other
			o.ignored = fits[other] && !fits[s] || other.first <= s.first && s.last <= other.last
			if o.ignored {
				break
			}
		}
		if o.with != nil {
			overlaps = append(overlaps, o)
		}
		if !o.ignored {
			count = append(count, s)
		}
	}
	inOrder(count)
	return count, overlaps
}

// overlapping reports whether any file of a list, which is in order, has by its name
// a seq that one before it has.
func overlapping(list []*segment) bool {
	for i := 1; i < len(list); i++ {
		if list[i].first <= list[i-1].last {
			return true
		}
	}
	return false
}

func inOrder(list []*segment) {
	slices.SortStableFunc(list, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
}

// endsAsNamed reports whether the first line of a complete file and its last one are
// those that its name says.
func (s *segment) endsAsNamed() bool {
	file, err := s.acquire()
	if err != nil {
		return false
	}
	defer s.rest()
	defer s.release()
	size, err := sizeOf(file)
	if err != nil || size == 0 {
		return false
	}
	lines := newProbe(file, 0, size)
	defer lines.close()
	l, err := lines.next()
	if err != nil || l.overlong || parseLine(l.text).seq != s.first {
		return false
	}
	last, ok, err := lineEndingAt(file, size)
	return err == nil && ok && parseLine(last).seq == s.last
}

// overlaps tells of complete files that have each other's seqs.
func (c *checking) overlaps() {
	for _, o := range c.double {
		name, with := filepath.Base(o.seg.currentPath()), filepath.Base(o.with.currentPath())
		if o.ignored {
			c.add(ProblemOverlap, name, 0, "nothing reads it: what its name says is in %s; move it out of the session's directory", with)
			continue
		}
		c.add(ProblemOverlap, name, 0, "%s has some of its seqs, too; find out which of the two was copied or renamed, and put it back", with)
	}
}
