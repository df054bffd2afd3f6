package search

import (
	"unicode"
	"unicode/utf8"
)

// appendFold appends text with its case taken away: rune by rune, by Unicode's
// simple folding. Accents count, and "ß" is not "ss".
func appendFold(to []byte, text string) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			to = append(to, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		to = utf8.AppendRune(to, foldRune(r))
		i += size
	}
	return to
}

// foldRune is the least rune that differs from r by case only, so that the
// Kelvin sign and k are one letter.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// unfolded is the place in text whose folding ends at byte at of the whole
// folding: a folded rune may have another length than its original.
func unfolded(text string, at int) int {
	i := 0
	for folded := 0; folded < at && i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		folded += utf8.RuneLen(foldRune(r))
		i += size
	}
	return i
}
