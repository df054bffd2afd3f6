package redact

import (
	"html"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text as a reader sees it: without invisible characters and terminal codes,
// or with its escapes resolved. Places in it are told in the text that it was made of.
type view struct {
	text  string
	marks []mark // ascending; nil where the places are the same
}

// mark says that from this place of the view on the source is that much ahead.
type mark struct{ at, ahead int }

// views returns the text, and then its escapes resolved one level after the other:
// percent, HTML and backslash.
func views(s string) []view {
	const deepest = 3
	all := []view{visible(s)}
	for range deepest {
		next, changed := unescaped(all[len(all)-1])
		if !changed {
			break
		}
		all = append(all, next)
	}
	return all
}

// source is the part of the source text that a part of the view stands for.
func (v view) source(from, to int) (int, int) {
	if to <= from {
		return v.place(from), v.place(from)
	}
	return v.place(from), v.place(to-1) + v.width(to-1)
}

func (v view) place(at int) int {
	i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > at })
	if i == 0 {
		return at
	}
	return at + v.marks[i-1].ahead
}

// width is how long the source of the byte at a place is, with what was removed behind it.
func (v view) width(at int) int {
	i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > at })
	if i == len(v.marks) || v.marks[i].at != at+1 {
		return 1
	}
	return v.place(at+1) - v.place(at)
}

// viewer builds a view of another.
type viewer struct {
	of    view
	out   strings.Builder
	ahead int
	marks []mark
}

// keep copies a part of the source.
func (b *viewer) keep(from, to int) {
	for _, m := range b.of.between(from, to) {
		b.mark(b.out.Len()+m.at-from, m.ahead+b.ahead)
	}
	b.out.WriteString(b.of.text[from:to])
}

// put writes text in the place of the source's next n bytes, the first of which is at.
func (b *viewer) put(text string, at, n int) {
	b.out.WriteString(text)
	b.ahead += n - len(text)
	b.mark(b.out.Len(), b.ahead+b.of.place(at+n)-(at+n))
}

func (b *viewer) mark(at, ahead int) {
	if n := len(b.marks); n > 0 && b.marks[n-1].at == at {
		b.marks[n-1].ahead = ahead
		return
	}
	b.marks = append(b.marks, mark{at, ahead})
}

func (b *viewer) view() view { return view{b.out.String(), b.marks} }

// between are the marks in a part of the text.
func (v view) between(from, to int) []mark {
	i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > from })
	j := sort.Search(len(v.marks), func(j int) bool { return v.marks[j].at > to })
	return v.marks[i:j]
}

// fullWidth is the first of the characters that are those of ASCII, but wide.
const fullWidth = '\uff01'

// visible is the text without characters that are not shown, and without the codes by
// which a terminal colours it.
func visible(s string) view {
	b := viewer{of: view{text: s}}
	last := 0
	for i := 0; i < len(s); {
		n := 0
		switch c := s[i]; {
		case c == 0x1b:
			n = controlLength(s[i:])
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if unseen(r) {
				n = size
			} else if r >= fullWidth && r <= fullWidth+('~'-'!') {
				b.keep(last, i)
				b.put(string('!'+r-fullWidth), i, size)
				i += size
				last = i
				continue
			} else {
				i += size
				continue
			}
		}
		if n == 0 {
			i++
			continue
		}
		b.keep(last, i)
		b.put("", i, n)
		i += n
		last = i
	}
	if last == 0 {
		return view{text: s}
	}
	b.keep(last, len(s))
	return b.view()
}

// controlLength is the length of the control sequence that s begins with.
func controlLength(s string) int {
	const longest = 64
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < min(len(s), longest); i++ {
		if s[i] >= '@' && s[i] <= '~' {
			return i + 1
		}
	}
	return 2
}

// unescaped resolves one level of escapes.
func unescaped(v view) (view, bool) {
	s := v.text
	if !strings.ContainsAny(s, `%&\`) {
		return v, false
	}
	b := viewer{of: v}
	last := 0
	for i := 0; i < len(s); i++ {
		text, n := escapeAt(s[i:])
		if n == 0 {
			continue
		}
		b.keep(last, i)
		b.put(text, i, n)
		i += n - 1
		last = i + 1
	}
	if last == 0 {
		return v, false
	}
	b.keep(last, len(s))
	return b.view(), true
}

// escapeAt is the character that the escape at the beginning of s stands for, and the
// length of the escape; 0 if there is none.
func escapeAt(s string) (string, int) {
	const longestEntity = 10
	if len(s) < 2 {
		return "", 0
	}
	switch s[0] {
	case '%':
		if code, ok := hexAt(s, 1, 2); ok {
			return string([]byte{byte(code)}), 3
		}
	case '&':
		end := strings.IndexByte(s[:min(len(s), longestEntity)], ';')
		if end < 2 {
			return "", 0
		}
		if text := html.UnescapeString(s[:end+1]); text != s[:end+1] {
			return text, end + 1
		}
	case '\\':
		switch c := s[1]; c {
		case '"', '\'', '\\', '/', '`', '=', ':', ' ', '&', '|', '*', '_':
			return s[1:2], 2
		case 'n', 'r':
			return "\n", 2
		case 't':
			return "\t", 2
		case 'x', 'u':
			digits := 4
			if c == 'x' {
				digits = 2
			}
			if code, ok := hexAt(s, 2, digits); ok && code > 0 && utf8.ValidRune(code) {
				return string(code), 2 + digits
			}
		}
	}
	return "", 0
}

func hexAt(s string, from, digits int) (rune, bool) {
	if len(s) < from+digits {
		return 0, false
	}
	code, err := strconv.ParseUint(s[from:from+digits], 16, 16)
	return rune(code), err == nil
}
