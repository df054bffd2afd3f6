package session

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// lastLineBytes bounds how much of a message's end is kept to find its last
// line in.
const lastLineBytes = 2048

// lastLine keeps the newest thing said, for the session list.
type lastLine struct {
	messageID string
	tail      []byte // the end of that message, from the beginning of a line unless one is longer
	fenced    bool   // the tail begins in a block of code
	within    bool   // the tail begins within a line
	fixed     string // text that did not come in chunks; used while tail is empty
}

// say replaces everything by one whole text.
func (l *lastLine) say(text event.Text) {
	l.begin("")
	l.fixed = lineOf(string(text), false)
}

// chunk adds to the message with this id, or begins it.
func (l *lastLine) chunk(messageID string, text event.Text) {
	if messageID != l.messageID {
		l.fixed = l.line()
		l.begin(messageID)
	}
	l.tail = append(l.tail, text...)
	if over := len(l.tail) - lastLineBytes; over > lastLineBytes { // trim seldom
		l.trim(over)
	}
}

// begin forgets the tail for that of another message.
func (l *lastLine) begin(messageID string) {
	l.messageID, l.tail, l.fenced, l.within = messageID, l.tail[:0], false, false
}

// trim drops the oldest so many bytes of the tail: only whole lines, unless the first is longer.
func (l *lastLine) trim(over int) {
	line := bytes.LastIndexByte(l.tail[:over], '\n') + 1
	if l.within = line == 0; !l.within {
		over = line
	}
	for over < len(l.tail) && !utf8.RuneStart(l.tail[over]) {
		over++
	}
	for line := range strings.Lines(string(l.tail[:over])) {
		l.fenced = fencedAfter(line, l.fenced)
	}
	l.tail = append(l.tail[:0], l.tail[over:]...)
}

// line is the last line with something in it.
func (l *lastLine) line() string {
	text := string(l.tail)
	if l.within {
		// It begins with a whole word.
		text = "…" + strings.TrimLeft(text[max(0, strings.IndexAny(text, " \t\n")):], " \t")
	}
	if line := lineOf(text, l.fenced); line != "" {
		return line
	}
	return l.fixed
}

// fail replaces everything by the first words of an error: its end is a trace
// more often than not.
func (l *lastLine) fail(message string) {
	l.begin("")
	l.fixed = firstLine(message)
}

// words is an open request as the list asks it, as in "Allow: rm -rf build?". It is
// empty for one with unknown content.
func (r openRequest) words() string {
	title := firstLine(r.Request.Title)
	allows := func(o event.PermissionOption) bool { return o.Kind == event.AllowOnce || o.Kind == event.AllowAlways }
	if title == "" || strings.HasSuffix(title, "?") || r.Request.Form != nil || r.Request.URL != "" || !slices.ContainsFunc(r.Request.Options, allows) {
		return title
	}
	return "Allow: " + title + "?"
}

// firstLine is the first line with something in it.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = oneLine(line); strings.IndexFunc(line, isWord) >= 0 {
			return cut(line, lastLineRunes)
		}
	}
	return ""
}

// lineOf is the last non-empty line of the text, outside of code if possible: code
// alone makes a poor summary. The text may begin in a block of code.
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
	return cut(oneLine(cmp.Or(prose, code)), lastLineRunes)
}

// fencedAfter reports whether the text after a line is in a block of code.
func fencedAfter(line string, before bool) bool {
	if !isFence(line) {
		return before
	}
	// Only the fence that opens a block names a language.
	return !before || strings.IndexFunc(line, isWord) >= 0
}

// isFence reports whether a line opens or closes a block of code.
func isFence(line string) bool {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	return strings.HasPrefix(line, "~~~") || len(line)-len(rest) >= 3 && !strings.Contains(rest, "`")
}
