package search

import (
	"bytes"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
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

// The ends of the keys of type and data. They begin with a letter that is rare before
// them, which makes looking for them quick.
const typeKey, dataKey = `type":"`, `data":`

// kindOf is the type of a line, if it is one that can hold text, before anything is
// decoded; else it is empty. The rest is the line behind it.
func kindOf(line []byte) (kind event.Type, rest []byte) {
	at := bytes.Index(line[:min(len(line), 128)], []byte(typeKey))
	if at < 0 {
		return "", nil
	}
	rest = line[at+len(typeKey):]
	for _, kind := range [...]event.Type{event.TypeAgentMessage, event.TypeToolCallUpdate, event.TypeToolCall, event.TypeUserPrompt} {
		if n := len(kind); len(rest) > n && rest[n] == '"' && string(rest[:n]) == string(kind) {
			return kind, rest[n:]
		}
	}
	return "", nil
}

// lineTextAt reads what follows the type in an intact line. It is false where the data has
// not the usual shape: those lines are decoded.
func lineTextAt(kind event.Type, rest []byte) (g lineText, ok bool) {
	_, data, _ := bytes.Cut(rest, []byte(dataKey))
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

// fields are the values of a payload that searching looks at, as JSON; nil is
// absent.
type fields struct {
	messageID, text, title, rawInput []byte
}

// fieldsOf finds the fields in an object that is known to be valid. It is false
// where a name is written in an unusual way or occurs twice, which the decoder
// understands in its own way.
func fieldsOf(object []byte) (f fields, ok bool) {
	for name, value := range event.Members(object) {
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
			if bytes.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
				return f, false
			}
			continue
		}
		if *to != nil {
			return f, false
		}
		*to = value
	}
	return f, true
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
