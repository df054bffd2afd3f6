package search

import (
	"bytes"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// lineText is the text in a line, found without decoding it. Searching looks at
// every line but decodes only those of a passage that may hold a match.
type lineText struct {
	// joined says that the line is a chunk of a message, the one with this id.
	joined bool
	id     []byte
	// texts are JSON values. Each text that can be searched in lies whole in one
	// of them, perhaps among other things. A line without any says nothing.
	texts [2][]byte
}

// lineTextAt reads a line that is exactly as a store wrote it, with data of the
// usual shape. Of any other it is false: those are decoded, since here nothing is
// checked.
func lineTextAt(line []byte, h head) (g lineText, ok bool) {
	kind, data := h.kindOf(), h.data()
	if kind == "" || data == nil || !logfile.Intact(line) {
		return g, false
	}
	fields, ok := fieldsOf(data)
	if !ok {
		return g, false
	}
	switch kind {
	case event.TypeAgentMessage:
		id, simple := simpleID(fields.messageID)
		return lineText{joined: true, id: id, texts: [2][]byte{unlessEmpty(fields.text)}}, simple && plain(fields.text)
	case event.TypeUserPrompt:
		return lineText{texts: [2][]byte{unlessEmpty(fields.text)}}, plain(fields.text)
	default: // a tool
		title := unlessEmpty(fields.title)
		if title == nil && len(fields.rawInput) > 0 && fields.rawInput[0] == '{' {
			return g, false // whether it has text depends on its data
		}
		return lineText{texts: [2][]byte{title, fields.rawInput}}, plain(fields.title)
	}
}

// head is the beginning of a line of canonical form.
type head struct {
	seq event.Seq
	// kind is the type as it is written, and rest the bytes after it.
	kind, rest []byte
}

// headOf reads the beginning of a line by its fixed places, without a search. It
// is false for a line of another form.
func headOf(line []byte) (h head, ok bool) {
	const seqKey, timeKey, typeKey = `{"seq":`, `,"time":"`, `","type":"`
	if !bytes.HasPrefix(line, []byte(seqKey)) {
		return h, false
	}
	at := len(seqKey)
	for ; at < len(line) && at < 24 && '0' <= line[at] && line[at] <= '9'; at++ {
		h.seq = h.seq*10 + event.Seq(line[at]-'0')
	}
	typeAt := at + len(timeKey) + len(event.TimeLayout)
	kindAt := typeAt + len(typeKey)
	if kindAt >= len(line) || string(line[at:at+len(timeKey)]) != timeKey || string(line[typeAt:kindAt]) != typeKey {
		return h, false
	}
	h.rest = line[kindAt:]
	n := bytes.IndexByte(h.rest[:min(len(h.rest), 64)], '"')
	if n < 0 {
		return h, false
	}
	h.kind, h.rest = h.rest[:n], h.rest[n+1:]
	return h, true
}

// kindOf is the type that can hold text which this is, or empty.
func (h head) kindOf() event.Type {
	switch string(h.kind) { // which needs no copy
	case string(event.TypeAgentMessage):
		return event.TypeAgentMessage
	case string(event.TypeToolCallUpdate):
		return event.TypeToolCallUpdate
	case string(event.TypeToolCall):
		return event.TypeToolCall
	case string(event.TypeUserPrompt):
		return event.TypeUserPrompt
	}
	return ""
}

// data is the payload and the bytes after it; nil where it is not where it belongs.
func (h head) data() []byte {
	const turnKey, dataKey = `,"turn":`, `,"data":`
	rest := h.rest
	if turn, ok := bytes.CutPrefix(rest, []byte(turnKey)); ok {
		rest = bytes.TrimLeft(turn[:min(len(turn), 20)], "0123456789")
		rest = turn[min(len(turn), 20)-len(rest):]
	}
	data, ok := bytes.CutPrefix(rest, []byte(dataKey))
	if !ok {
		return nil
	}
	return data
}

// fields are the values of a payload that searching looks at, as JSON; nil is
// absent.
type fields struct {
	messageID, text, title, rawInput []byte
}

// fieldsOf finds the fields in an object that is known to be valid. It is false
// where a name is written in an unusual way or occurs twice, which the decoder
// understands in its own way.
func fieldsOf(object []byte) (f fields, ok bool) {
	rest := object
	if len(rest) < 2 || rest[0] != '{' {
		return f, false
	}
	for rest = rest[1:]; len(rest) > 0 && rest[0] == '"'; {
		name := rest[:stringLength(rest)]
		if len(name) < 2 || len(name) >= len(rest) || rest[len(name)] != ':' || bytes.IndexByte(name, '\\') >= 0 {
			return f, false
		}
		rest = rest[len(name)+1:]
		value := rest[:valueLength(rest)]
		if !f.take(name[1:len(name)-1], value) {
			return f, false
		}
		if rest = rest[len(value):]; len(rest) > 0 && rest[0] == ',' {
			rest = rest[1:]
		}
	}
	return f, len(rest) > 0 && rest[0] == '}'
}

// take keeps a member if it is one of the fields.
func (f *fields) take(name, value []byte) bool {
	var to *[]byte
	switch string(name) {
	case "message_id":
		to = &f.messageID
	case "text":
		to = &f.text
	case "title":
		to = &f.title
	case "raw_input":
		to = &f.rawInput
	default:
		for _, known := range []string{"message_id", "text", "title", "raw_input"} {
			if len(name) >= len(known) && bytes.EqualFold(name, []byte(known)) {
				return false // the decoder takes other cases too
			}
		}
		return true
	}
	if *to != nil || len(value) == 0 {
		return false
	}
	*to = value
	return true
}

// plain says that a value is absent or a string, and no reference to a blob.
func plain(value []byte) bool { return value == nil || value[0] == '"' }

// unlessEmpty is a value that is not the empty string.
func unlessEmpty(value []byte) []byte {
	if string(value) == `""` {
		return nil
	}
	return value
}

// simpleID is the id in a value, if it is a string that reads as it is written.
func simpleID(value []byte) ([]byte, bool) {
	if value == nil {
		return nil, true
	}
	if value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 || !utf8.Valid(value) {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// stringLength is the length of the string that text begins with, its quotes
// among it; 0 if it does not end.
func stringLength(text []byte) int {
	for at := 1; at < len(text); {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return 0
		}
		at += quote
		escapes := 0
		for text[at-1-escapes] == '\\' {
			escapes++
		}
		if at++; escapes%2 == 0 {
			return at
		}
	}
	return 0
}

// valueLength is the length of the value that text begins with; 0 if it does not
// end.
func valueLength(text []byte) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			n := stringLength(text[at:])
			if n == 0 {
				return 0
			}
			if at += n - 1; depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // behind a number or a word
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return 0
}
