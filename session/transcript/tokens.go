package transcript

import (
	"strings"
	"unicode/utf8"
)

// Tokens estimates how many tokens a text has for a language model: two for seven
// bytes. Models have different tokenizers; for English, code and JSON the estimate is
// within a quarter.
func Tokens(text string) int { return (2*len(text) + 6) / 7 }

// upToTokens is how many bytes of a text have at most that many tokens, but at least
// one rune. It ends at a line where there is one in the second half, and never inside
// a rune.
func upToTokens(text string, limit int) int {
	end := limit * 7 / 2
	if end >= len(text) {
		return len(text)
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 {
		_, end = utf8.DecodeRuneInString(text)
	}
	if line := strings.LastIndexByte(text[:end], '\n') + 1; line > end/2 {
		return line
	}
	return end
}
