package session

import (
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// lastLineBytes bounds how much of a message's end is kept to find its last
// line in.
const lastLineBytes = 2048

// lastLine keeps the newest thing said, for the session list.
type lastLine struct {
	messageID string
	tail      []byte // the end of that message
	fixed     string // what was said other than in chunks; used while tail is empty
}

// say replaces everything by one whole text.
func (l *lastLine) say(text event.Text) {
	l.messageID, l.tail = "", l.tail[:0]
	l.fixed = lineOf(string(text))
}

// chunk adds to the message with this id, or begins it.
func (l *lastLine) chunk(messageID string, text event.Text) {
	if messageID != l.messageID {
		if l.fixed = l.line(); len(l.tail) > 0 {
			l.tail = l.tail[:0]
		}
		l.messageID = messageID
	}
	l.tail = append(l.tail, text...)
	if over := len(l.tail) - lastLineBytes; over > lastLineBytes { // trim seldom
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
}

// line is the last line with something in it.
func (l *lastLine) line() string {
	if line := lineOf(string(l.tail)); line != "" {
		return line
	}
	return l.fixed
}

// fail replaces everything by the first words of an error: its end is a trace
// more often than not.
func (l *lastLine) fail(message string) {
	l.messageID, l.tail = "", l.tail[:0]
	l.fixed = firstLine(message)
}

// words is an open request as the list asks it, as in "Allow: rm -rf build?". It
// is empty for one whose content is not known any more.
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

func lineOf(text string) string {
	for text = strings.TrimSpace(text); text != ""; {
		i := strings.LastIndexByte(text, '\n')
		if line := oneLine(text[i+1:]); strings.IndexFunc(line, isWord) >= 0 {
			return cut(line, lastLineRunes)
		}
		text = strings.TrimSpace(text[:max(i, 0)])
	}
	return ""
}
