package workspace

import (
	"container/heap"
	"slices"
	"strings"
)

// ranked is a path and how well it matches: less is better.
type ranked struct {
	path string
	rank int
}

func (r ranked) compare(to ranked) int {
	if r.rank != to.rank {
		return r.rank - to.rank
	}
	if len(r.path) != len(to.path) {
		return len(r.path) - len(to.path)
	}
	return strings.Compare(r.path, to.path)
}

// worst is a heap of the best matches so far, the worst of them on top.
type worst []ranked

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[i].compare(w[j]) > 0 }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worst) Push(x any)        { *w = append(*w, x.(ranked)) }
func (w *worst) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// best returns the paths that match the typed text, the best first.
func best(list []name, typed string, most int) []string {
	typed = folded(typed)
	var kept worst
	for _, n := range list {
		rank, ok := match(n.lower, typed)
		r := ranked{n.path, rank}
		switch {
		case !ok:
		case len(kept) < most:
			heap.Push(&kept, r)
		case r.compare(kept[0]) < 0:
			kept[0] = r
			heap.Fix(&kept, 0)
		}
	}
	slices.SortFunc(kept, ranked.compare)
	paths := make([]string, len(kept))
	for i, r := range kept {
		paths[i] = r.path
	}
	return paths
}

// The ranks of a match, by where it is.
const (
	rankName   = iota // the file's name
	rankStart         // the beginning of the file's name
	rankInName        // in the file's name
	rankInPath        // in the path
	rankSpread        // its letters in their order; the gaps are added
)

// match reports whether a path holds the letters that were typed, in their order.
func match(path, typed string) (rank int, ok bool) {
	if typed == "" {
		return strings.Count(path, "/"), true
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case base == typed || path == typed:
		return rankName, true
	case strings.HasPrefix(base, typed):
		return rankStart, true
	case strings.Contains(base, typed):
		return rankInName, true
	case strings.Contains(path, typed):
		return rankInPath, true
	}
	first, at := -1, 0
	for i := range len(typed) {
		next := strings.IndexByte(path[at:], typed[i])
		if next < 0 {
			return 0, false
		}
		if at += next + 1; first < 0 {
			first = at
		}
	}
	return rankSpread + at - first - len(typed) + 1, true
}
