package state

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Maximum lengths of texts in lists, in runes.
const (
	titleRunes = 60
	LineRunes  = 120
)

// titleBytes is how far FirstSentence reads a line. A prompt may be one line of a MiB.
const titleBytes = 4 << 10

// FirstSentence makes a title from a prompt without a language model: the first
// sentence on its first line, cut at a word. It is empty for a prompt without
// letters.
func FirstSentence(text string) string {
	return strings.Clone(Cut(firstSentence(text), titleRunes)) // without the text
}

// firstSentence is FirstSentence of any length.
func firstSentence(text string) string {
	line := ""
	for candidate := range strings.Lines(text) {
		candidate = strings.TrimLeft(candidate, "#>*-+ \t")
		candidate = OneLine(candidate[:min(len(candidate), titleBytes)])
		if strings.IndexFunc(candidate, isWord) >= 0 {
			line = candidate
			break
		}
	}
	return sentence(line)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// sentence cuts after the first full stop, question or exclamation mark before a
// blank. "v1.2" and "main.go" have no such mark, and "e.g." is an exception.
func sentence(line string) string {
	for i, r := range line {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		rest := line[i+utf8.RuneLen(r):]
		wide := r > unicode.MaxASCII
		if r == '.' && rest != "" && abbreviated(line[:i]) {
			continue
		}
		if rest == "" || wide || strings.HasPrefix(rest, " ") {
			if r == '.' || r == '。' {
				return line[:i]
			}
			return line[:i+utf8.RuneLen(r)]
		}
	}
	return line
}

// abbreviated reports whether text ends with an abbreviation.
func abbreviated(text string) bool {
	word := strings.TrimLeft(text[strings.LastIndexByte(text, ' ')+1:], "([\"'")
	if word == "vs" || word == "cf" || utf8.RuneCountInString(word) == 1 && strings.IndexFunc(word, unicode.IsLetter) == 0 {
		return true
	}
	for part := range strings.SplitSeq(word, ".") { // e.g, z.B, U.S
		if n := utf8.RuneCountInString(part); n == 0 || n > 2 {
			return false
		}
	}
	return strings.Contains(word, ".") && strings.IndexFunc(word, unicode.IsDigit) < 0
}

// AgentTitle is a title that an agent gave, for lists.
func AgentTitle(title string) string { return Cut(OneLine(title), titleRunes) }

// OneLine returns text as one line of printable runes with single blanks.
func OneLine(text string) string {
	if isOneLine(text) {
		return text
	}
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

// isOneLine reports whether OneLine changes nothing in a text of ASCII, as most titles
// are.
func isOneLine(text string) bool {
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return text == "" || before != ' '
}

// Cut shortens text to at most limit runes, at a blank in the last third if there
// is one, and appends an ellipsis.
func Cut(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	short := text[:runes(text, limit-1)]
	if i := strings.LastIndexByte(short, ' '); i > len(short)*2/3 {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:-") + "…"
}

// runes is the number of bytes of the first n runes of a text.
func runes(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}
