package search

import (
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// appendFold appends text with its case taken away: rune by rune, by Unicode's
// simple folding. Accents count, and "ß" is not "ss".
func appendFold(to []byte, text string) []byte {
	for _, r := range text {
		to = utf8.AppendRune(to, foldRune(r))
	}
	return to
}

// appendFoldJSON appends the text of a JSON value the way appendFold does, with its
// escapes undone as decoding undoes them. A string's text thus comes out the same
// from the middle of anything: escapes stand in strings only.
func appendFoldJSON(to, value []byte) []byte {
	for i := 0; i < len(value); {
		run := i
		for i < len(value) && value[i] < utf8.RuneSelf && value[i] != '\\' {
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
		to = utf8.AppendRune(to, foldRune(r))
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

// unfolded is the offset in text that folds to byte at of the whole folding: a
// folded rune may have another length than its original.
func unfolded(text string, at int) int {
	i := 0
	for folded := 0; folded < at && i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		folded += utf8.RuneLen(foldRune(r))
		i += size
	}
	return i
}
