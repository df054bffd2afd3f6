package state

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// lastLineBytes limits how much of a message's end is kept to find its last line.
const lastLineBytes = 2048

// LastLine keeps the last line of the newest message, for the session list.
type LastLine struct {
	MessageID string `json:"message_id,omitempty"`
	// Tail is the end of the message. It begins at the start of a line unless a line
	// is longer.
	Tail []byte `json:"tail,omitempty"`
	// Fenced means that Tail begins inside a code block, Within that it begins inside
	// a line.
	Fenced bool `json:"fenced,omitempty"`
	Within bool `json:"within,omitempty"`
	// Fixed is text without chunks, used while Tail is empty.
	Fixed string `json:"fixed,omitempty"`
}

// say replaces everything by a complete text.
func (l *LastLine) say(text event.Text) {
	l.begin("")
	l.Fixed = lineOf(string(text), false)
}

// chunk appends to the message with this id, or begins it.
func (l *LastLine) chunk(messageID string, text event.Text) {
	if messageID != l.MessageID {
		l.Fixed = l.Text()
		l.begin(messageID)
	}
	l.Tail = append(l.Tail, text...)
	if over := len(l.Tail) - lastLineBytes; over > lastLineBytes { // do not trim each time
		l.trim(over)
	}
}

// begin starts another message with an empty tail.
func (l *LastLine) begin(messageID string) {
	l.MessageID, l.Tail, l.Fenced, l.Within = messageID, l.Tail[:0], false, false
}

// trim removes the oldest over bytes of the tail. It removes only whole lines
// unless the first line is longer.
func (l *LastLine) trim(over int) {
	line := bytes.LastIndexByte(l.Tail[:over], '\n') + 1
	if l.Within = line == 0; !l.Within {
		over = line
	}
	for over < len(l.Tail) && !utf8.RuneStart(l.Tail[over]) {
		over++
	}
	for line := range strings.Lines(string(l.Tail[:over])) {
		l.Fenced = fencedAfter(line, l.Fenced)
	}
	l.Tail = append(l.Tail[:0], l.Tail[over:]...)
}

// line returns the last non-empty line.
func (l *LastLine) Text() string {
	text := string(l.Tail)
	if l.Within {
		// Begin with a whole word.
		text = "…" + strings.TrimLeft(text[max(0, strings.IndexAny(text, " \t\n")):], " \t")
	}
	if line := lineOf(text, l.Fenced); line != "" {
		return line
	}
	return l.Fixed
}

// fail replaces everything by the first line of an error, because errors often end
// with a stack trace.
func (l *LastLine) fail(message string) {
	l.begin("")
	l.Fixed = FirstLine(message)
}

// FirstLine returns the first non-empty line.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = OneLine(line); strings.IndexFunc(line, isWord) >= 0 {
			return Cut(line, LineRunes)
		}
	}
	return ""
}

// lineOf returns the last non-empty line of the text, outside of code blocks if
// possible, because code is a poor summary. The text may begin inside a code block.
func lineOf(text string, fenced bool) string {
	var prose, code string
	for line := range strings.Lines(text) {
		fenced = fencedAfter(line, fenced)
		switch {
		case isFence(line) || strings.IndexFunc(line, isWord) < 0:
		case fenced:
			code = line
		default:
			prose = line
		}
	}
	return Cut(OneLine(cmp.Or(prose, code)), LineRunes)
}

// fencedAfter reports whether the text after a line is inside a code block.
func fencedAfter(line string, before bool) bool {
	if !isFence(line) {
		return before
	}
	// Only an opening fence has a language.
	return !before || strings.IndexFunc(line, isWord) >= 0
}

// isFence reports whether a line opens or closes a code block.
func isFence(line string) bool {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	return strings.HasPrefix(line, "~~~") || len(line)-len(rest) >= 3 && !strings.Contains(rest, "`")
}
