package redact

import (
	"slices"
	"strings"
)

// gone stands for what was removed.
const gone = "[redacted]"

// span is a part of a text.
type span struct{ from, to int }

// cut is a part of a text that is replaced.
type cut struct {
	span
	with string
}

// cutOut replaces parts of a text, and counts them. Those that overlap are one.
func cutOut(s string, cuts []cut) (string, int) {
	if len(cuts) == 0 {
		return s, 0
	}
	slices.SortStableFunc(cuts, func(a, b cut) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	var out strings.Builder
	last, n := 0, 0
	for i := 0; i < len(cuts); {
		c := cuts[i]
		for i++; i < len(cuts) && cuts[i].from < c.to; i++ {
			c.to = max(c.to, cuts[i].to)
		}
		out.WriteString(s[last:c.from] + c.with)
		last = c.to
		n++
	}
	return out.String() + s[last:], n
}
