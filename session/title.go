package session

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of what lists show, in runes.
const (
	titleRunes    = 60
	lastLineRunes = 120
)

// firstSentence makes a title of a prompt without asking a language model: its
// first sentence on its first line, cut at a word. It is empty for a prompt
// without letters.
func firstSentence(text string) string {
	line := ""
	for candidate := range strings.Lines(text) {
		candidate = oneLine(strings.TrimLeft(candidate, "#>*-+ \t"))
		if strings.IndexFunc(candidate, isWord) >= 0 {
			line = candidate
			break
		}
	}
	return cut(sentence(line), titleRunes)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// sentence cuts after the first full stop, question or exclamation mark that a
// blank follows: "v1.2" and "main.go" are no ends.
func sentence(line string) string {
	for i, r := range line {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		rest := line[i+utf8.RuneLen(r):]
		wide := r > unicode.MaxASCII
		if rest == "" || wide || strings.HasPrefix(rest, " ") {
			if r == '.' || r == '。' {
				return line[:i]
			}
			return line[:i+utf8.RuneLen(r)]
		}
	}
	return line
}

// oneLine makes any text one line of printable runes, single blanks between
// words.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// cut shortens text to at most limit runes, at a blank if there is one in the
// last third, and marks that it did.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	short := string([]rune(text)[:limit-1])
	if i := strings.LastIndexByte(short, ' '); i > len(short)*2/3 {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:-") + "…"
}
