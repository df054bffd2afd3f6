// Package plain makes text of agents and people fit for a terminal.
//
// Nothing it returns moves the cursor, changes a colour, a title or a clipboard:
// every control character is replaced by a visible sign, and so is every
// character that changes the direction of text or has no width of its own.
// Widths are counted in cells, as terminals show them.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Text makes text of many lines safe. Line breaks and tabs stay.
func Text(s string) string { return clean(s, true) }

// Line makes text safe and puts it on one line.
func Line(s string) string {
	return strings.Join(strings.Fields(clean(s, false)), " ")
}

func clean(s string, lines bool) string {
	if sound(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == '\n' || r == '\t':
			if !lines {
				r = ' '
			}
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		default:
			write(&b, r)
		}
	}
	return b.String()
}

// sound reports whether s can be shown as it is, which most text can.
func sound(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func write(b *strings.Builder, r rune) {
	switch {
	case r < ' ':
		b.WriteRune('␀' + r) // the picture of that control character
	case r == 0x7f:
		b.WriteRune('␡')
	case hidden(r):
		fmt.Fprintf(b, "<U+%04X>", r)
	default:
		b.WriteRune(r)
	}
}

// hidden reports characters that act on the text around them unseen. Two are
// left out: emoji and several scripts are written with the joiners.
func hidden(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// JSON escapes, in JSON, the characters of strings that a terminal would obey.
// The value stays the same.
func JSON(data []byte) []byte {
	if sound(string(data)) {
		return data
	}
	var b strings.Builder
	b.Grow(len(data))
	for _, r := range string(data) {
		switch {
		case r == '\n', r == '\t' || r < 0x7f:
			b.WriteRune(r) // JSON itself escapes control characters below the space
		case (r == 0x7f || hidden(r)) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	return []byte(b.String())
}

// Width is how many cells a line of safe text takes.
func Width(s string) int { return uniseg.StringWidth(s) }

// Cut shortens a line of safe text to at most width cells, the last an ellipsis
// where something was cut.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	used, state, rest := 0, -1, s
	for len(rest) > 0 {
		_, tail, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width-1 {
			break
		}
		used, state, rest = used+w, next, tail
	}
	return s[:len(s)-len(rest)] + "…"
}
