package search

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxTitles is the most titles that a search returns.
const maxTitles = 10

// Title is a session whose title has the words of a search.
type Title struct {
	SessionID, Name string
	UpdatedAt       time.Time
}

// titles are the sessions whose titles have all words of the query: first those that have them
// as they are, then those where one letter of a word is wrong, missing or too much. The
// latest are first.
func (q *Query) titles(sources []Source) []Title {
	type match struct {
		Title
		typos int
	}
	var all []match
	for _, s := range sources {
		if typos, ok := q.typos(s.Name); ok {
			all = append(all, match{Title{s.SessionID, s.Name, s.UpdatedAt}, typos})
		}
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.typos, b.typos), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.SessionID, a.SessionID))
	})
	var titles []Title
	for _, m := range all[:min(len(all), maxTitles)] {
		titles = append(titles, m.Title)
	}
	return titles
}

// typos counts the parts that a title has only with a wrong letter. It reports whether the
// title has all parts.
func (q *Query) typos(title string) (typos int, ok bool) {
	if title == "" {
		return 0, false
	}
	folded := Fold(title)
	for _, part := range q.parts {
		if strings.Contains(folded, string(part)) {
			continue
		}
		if utf8.RuneCount(part) < fuzzyFrom || !hasNear(folded, string(part)) {
			return 0, false
		}
		typos++
	}
	return typos, true
}

// hasNear reports whether a word of a text is near a part.
func hasNear(text, part string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if near(word, part) {
			return true
		}
	}
	return false
}

// fuzzyFrom is how many letters a word has in which one may be wrong.
const fuzzyFrom = 4

// near reports whether one letter added, removed, replaced or changed with its neighbour makes
// one word the other, or the beginning of it.
func near(word, part string) bool {
	for part != "" {
		a, n := utf8.DecodeRuneInString(word)
		b, m := utf8.DecodeRuneInString(part)
		if n == 0 || a != b {
			break
		}
		word, part = word[n:], part[m:]
	}
	a, n := utf8.DecodeRuneInString(word)
	b, m := utf8.DecodeRuneInString(part)
	switch {
	case len(part) == m:
		return true
	case strings.HasPrefix(word, part[m:]): // one too much
		return true
	case n > 0 && (strings.HasPrefix(word[n:], part) || strings.HasPrefix(word[n:], part[m:])): // one is missing, or wrong
		return true
	}
	c, k := utf8.DecodeRuneInString(part[m:])
	d, l := utf8.DecodeRuneInString(word[n:])
	return l > 0 && a == c && b == d && strings.HasPrefix(word[n+l:], part[m+k:])
}
