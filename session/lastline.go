package session

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// lastLineBytes limits how much of a message's end is kept to find its last line.
const lastLineBytes = 2048

// lastLine keeps the last line of the newest message, for the session list.
type lastLine struct {
	messageID string
	tail      []byte // end of the message; begins at the start of a line unless a line is longer
	fenced    bool   // the tail begins inside a code block
	within    bool   // the tail begins inside a line
	fixed     string // text without chunks, used while tail is empty
}

// say replaces everything by a complete text.
func (l *lastLine) say(text event.Text) {
	l.begin("")
	l.fixed = lineOf(string(text), false)
}

// chunk appends to the message with this id, or begins it.
func (l *lastLine) chunk(messageID string, text event.Text) {
	if messageID != l.messageID {
		l.fixed = l.line()
		l.begin(messageID)
	}
	l.tail = append(l.tail, text...)
	if over := len(l.tail) - lastLineBytes; over > lastLineBytes { // do not trim each time
		l.trim(over)
	}
}

// begin starts another message with an empty tail.
func (l *lastLine) begin(messageID string) {
	l.messageID, l.tail, l.fenced, l.within = messageID, l.tail[:0], false, false
}

// trim removes the oldest over bytes of the tail. It removes only whole lines
// unless the first line is longer.
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

// line returns the last non-empty line.
func (l *lastLine) line() string {
	text := string(l.tail)
	if l.within {
		// Begin with a whole word.
		text = "…" + strings.TrimLeft(text[max(0, strings.IndexAny(text, " \t\n")):], " \t")
	}
	if line := lineOf(text, l.fenced); line != "" {
		return line
	}
	return l.fixed
}

// fail replaces everything by the first line of an error, because errors often end
// with a stack trace.
func (l *lastLine) fail(message string) {
	l.begin("")
	l.fixed = firstLine(message)
}

// words returns an open request for the list, such as "Allow: rm -rf build?". It is
// empty if the content is unknown.
func (r openRequest) words() string {
	title := firstLine(r.Request.Title)
	allows := func(o event.PermissionOption) bool { return o.Kind == event.AllowOnce || o.Kind == event.AllowAlways }
	if title == "" || strings.HasSuffix(title, "?") || r.Request.Form != nil || r.Request.URL != "" || !slices.ContainsFunc(r.Request.Options, allows) {
		return title
	}
	return "Allow: " + title + "?"
}

// firstLine returns the first non-empty line.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = oneLine(line); strings.IndexFunc(line, isWord) >= 0 {
			return cut(line, lastLineRunes)
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
	return cut(oneLine(cmp.Or(prose, code)), lastLineRunes)
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
