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
	var words []string
	for _, part := range q.parts {
		if strings.Contains(folded, string(part)) {
			continue
		}
		if words == nil {
			words = strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		}
		if utf8.RuneCount(part) < fuzzyFrom || !slices.ContainsFunc(words, func(word string) bool { return near(word, string(part)) }) {
			return 0, false
		}
		typos++
	}
	return typos, true
}

// fuzzyFrom is how many letters a word has in which one may be wrong.
const fuzzyFrom = 4

// near reports whether one letter added, removed, replaced or changed with its neighbour makes
// one word the other, or the beginning of it.
func near(word, part string) bool {
	a, b := []rune(word), []rune(part)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	begins := func(of, with []rune) bool { return len(of) >= len(with) && slices.Equal(of[:len(with)], with) }
	switch {
	case len(b) == 0 || len(b) == 1:
		return true
	case begins(a, b[1:]): // one too much
		return true
	case len(a) > 0 && (begins(a[1:], b) || begins(a[1:], b[1:])): // one is missing, or wrong
		return true
	default:
		return len(a) > 1 && a[0] == b[1] && a[1] == b[0] && begins(a[2:], b[2:])
	}
}
