package session

import (
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
