package search

import (
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// appendFold appends text as it is compared: without case, by Unicode's simple
// folding, in normal form C, and without the marks of Markdown inside a line. Accents
// count, and "ß" is not "ss".
func appendFold(to []byte, text string) []byte {
	for _, r := range text {
		if r < utf8.RuneSelf && !isMark(r) {
			to = append(to, byte(foldRune(r)))
		} else {
			to = appendFolded(to, r)
		}
	}
	return to
}

// appendFolded appends one rune of a text; one that combines with the rune before it
// replaces that.
func appendFolded(to []byte, r rune) []byte {
	if isMark(r) {
		return to
	}
	if r >= firstCombining {
		var rune [utf8.UTFMax]byte
		n := utf8.EncodeRune(rune[:], r)
		if !norm.NFC.Properties(rune[:n]).BoundaryBefore() {
			_, size := utf8.DecodeLastRune(to)
			base := len(to) - size
			pair := append(append(make([]byte, 0, 2*utf8.UTFMax), to[base:]...), rune[:n]...)
			if composed, size := utf8.DecodeRune(norm.NFC.Bytes(pair)); size == len(norm.NFC.Bytes(pair)) {
				return utf8.AppendRune(to[:base], foldRune(composed))
			}
		}
	}
	return utf8.AppendRune(to, foldRune(r))
}

// firstCombining is the first rune that can be part of the character before it.
const firstCombining = 0x300

// isMark tells Markdown's marks of code and emphasis, which are not read. An underscore
// is more often a part of a name.
func isMark(r rune) bool { return r == '*' || r == '`' }

// foldedFrom folds a text like appendFold, and tells for each byte where the text that it
// stands for begins and ends.
func foldedFrom(text string) (folded []byte, begins, ends []int32) {
	folded = make([]byte, 0, len(text))
	begins, ends = make([]int32, 0, len(text)), make([]int32, 0, len(text))
	for at, r := range text {
		if r < utf8.RuneSelf && !isMark(r) { // it is not composed with the one before
			folded, begins, ends = append(folded, byte(foldRune(r))), append(begins, int32(at)), append(ends, int32(at+1))
			continue
		}
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[at:])
		}
		was := len(folded)
		folded = appendFolded(folded, r)
		begin, end := int32(at), int32(at+size)
		if _, last := utf8.DecodeLastRune(folded); len(folded) > 0 && !isMark(r) && len(folded)-last < was {
			was = len(folded) - last // it was composed with the one before
			begin = begins[was]
		}
		begins, ends = begins[:min(was, len(begins))], ends[:min(was, len(ends))]
		for len(begins) < len(folded) {
			begins, ends = append(begins, begin), append(ends, end)
		}
	}
	return folded, begins, ends
}

// appendFoldJSON appends the text of a JSON value the way appendFold does, with its
// escapes undone as decoding undoes them. A string's text thus comes out the same
// from the middle of anything: escapes stand in strings only.
func appendFoldJSON(to, value []byte) []byte {
	for i := 0; i < len(value); {
		run := i
		for i < len(value) && value[i] < utf8.RuneSelf && value[i] != '\\' && !isMark(rune(value[i])) {
			i++
		}
		from := len(to)
		to = append(to, value[run:i]...)
		for at, c := range to[from:] {
			if 'A' <= c && c <= 'Z' {
				to[from+at] = c + ('a' - 'A')
			}
		}
		if i == len(value) {
			break
		}
		r, size := utf8.DecodeRune(value[i:])
		if r == '\\' && i+1 < len(value) {
			r, size = unescape(value[i:])
		}
		to = appendFolded(to, r)
		i += size
	}
	return to
}

// unescape reads the escape that text begins with. Half of a pair is U+FFFD.
func unescape(text []byte) (r rune, size int) {
	switch c := text[1]; c {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		r, ok := hexEscape(text)
		if !ok {
			return unicode.ReplacementChar, 2
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if low, ok := hexEscape(text[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != unicode.ReplacementChar {
				return pair, 12
			}
		}
		return unicode.ReplacementChar, 6
	default:
		return rune(c), 2
	}
}

// hexEscape reads an escape of four hex digits.
func hexEscape(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// foldRune is the least rune that differs from r by case only, so that the
// Kelvin sign and k are one letter.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf { // most escapes are of quotes and line breaks
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
