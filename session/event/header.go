package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"
	"unicode/utf8"
)

// Header is an event of a batch as far as it can be told without decoding it.
// It shares the batch's memory, which must not be changed.
type Header struct {
	// JSON is the event's whole object.
	JSON []byte
	// Type is empty where the object is not of the exact form a log writes, such
	// as a line that was edited by hand: only decoding tells then.
	Type Type

	seq, turn, at, data []byte // of an object of that form
}

// Headers yields the events of a batch one by one. The batch may be merged.
func (b Batch) Headers() iter.Seq[Header] {
	return func(yield func(Header) bool) {
		for rest := b.JSON; len(rest) > 0; {
			g, ok := headerAt(rest)
			if !ok {
				g = Header{JSON: rest[:valueLength(rest)]}
			}
			if len(g.JSON) == 0 { // no JSON at all: its reader will say so
				g.JSON = rest
			}
			if !yield(g) {
				return
			}
			rest = rest[len(g.JSON):]
			rest = rest[min(1, len(rest)):] // the comma
		}
	}
}

// Event decodes the envelope. Data shares the batch's memory too.
func (g Header) Event() (Event, error) {
	if g.Type != "" {
		if e, ok := g.simple(); ok {
			return e, nil
		}
	}
	var e Event
	if err := json.Unmarshal(g.JSON, &e); err != nil {
		return Event{}, fmt.Errorf("decode an event: %w", err)
	}
	return e, nil
}

// Chunk is the event as a chunk of the agent's message, if it is one that holds
// text alone and says it without escapes, as the bulk of a long answer does.
func (g Header) Chunk() (seq Seq, m AgentMessage, ok bool) {
	if g.Type != TypeAgentMessage {
		return 0, m, false
	}
	id, rest, ok := plainString(g.data, `{"message_id":"`)
	if !ok {
		return 0, m, false
	}
	text, rest, ok := plainString(rest, `,"text":"`)
	if !ok || len(rest) != 1 { // the closing brace
		return 0, m, false
	}
	n, err := strconv.ParseInt(string(g.seq), 10, 64)
	return Seq(n), AgentMessage{MessageID: string(id), Text: Text(text)}, err == nil
}

// plainString splits the bytes after the key at the next quote, if every byte
// before it stands for itself.
func plainString(text []byte, key string) (value, rest []byte, ok bool) {
	if !bytes.HasPrefix(text, []byte(key)) {
		return nil, nil, false
	}
	text = text[len(key):]
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		return nil, nil, false
	}
	for _, c := range text[:end] {
		if c < ' ' || c == '\\' {
			return nil, nil, false
		}
	}
	return text[:end], text[end+1:], utf8.Valid(text[:end])
}

// simple is Event for the form a log writes.
func (g Header) simple() (Event, bool) {
	seq, err := strconv.ParseInt(string(g.seq), 10, 64)
	if err != nil {
		return Event{}, false
	}
	turn := 0
	if g.turn != nil {
		if turn, err = strconv.Atoi(string(g.turn)); err != nil {
			return Event{}, false
		}
	}
	at, err := time.Parse(TimeLayout, string(g.at))
	if err != nil {
		return Event{}, false
	}
	return Event{Seq: Seq(seq), Time: at, Type: g.Type, Turn: turn, Data: g.data}, true
}

// headerAt reads the object that text begins with, if it has the exact form a log
// writes: these members in this order, and none after the data. The data is not
// looked at.
func headerAt(text []byte) (g Header, ok bool) {
	const (
		seqKey, timeKey, typeKey = `{"seq":`, `,"time":"`, `","type":"`
		turnKey, dataKey         = `,"turn":`, `,"data":`
	)
	rest := text
	for _, part := range []struct {
		key string
		to  *[]byte
	}{{seqKey, &g.seq}, {timeKey, &g.at}, {typeKey, nil}, {turnKey, &g.turn}, {dataKey, &g.data}} {
		if len(rest) < len(part.key) || string(rest[:len(part.key)]) != part.key {
			if part.to == &g.turn {
				continue
			}
			return Header{}, false
		}
		rest = rest[len(part.key):]
		n := 0
		switch part.key {
		case seqKey, turnKey:
			n = digits(rest)
		case timeKey:
			n = min(len(TimeLayout), len(rest))
		case typeKey:
			if n = wordLength(rest); n > 0 {
				g.Type = typeOf(rest[:n])
				n++ // its quote
			}
		case dataKey:
			n = valueLength(rest)
		}
		if n == 0 {
			return Header{}, false
		}
		if part.to != nil {
			*part.to = rest[:n:n]
		}
		rest = rest[n:]
	}
	if len(rest) == 0 || rest[0] != '}' || g.data[0] != '{' || len(rest) > 1 && rest[1] != ',' {
		return Header{}, false
	}
	g.JSON = text[: len(text)-len(rest)+1 : len(text)-len(rest)+1]
	return g, true
}

// digits is how many digits of a small number text begins with.
func digits(text []byte) int {
	n := 0
	for n < len(text) && n < 16 && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// wordLength is the length of the name before the quote that ends it; 0 if it
// is not written in small letters alone.
func wordLength(text []byte) int {
	for i, c := range text {
		if c == '"' {
			return i
		}
		if c != '_' && (c < 'a' || c > 'z') {
			break
		}
	}
	return 0
}

// typeOf is the type with this name. The bulk of a log costs no allocation.
func typeOf(name []byte) Type {
	switch string(name) {
	case string(TypeAgentMessage):
		return TypeAgentMessage
	case string(TypeAgentThought):
		return TypeAgentThought
	case string(TypeToolCall):
		return TypeToolCall
	case string(TypeToolCallUpdate):
		return TypeToolCallUpdate
	case string(TypeTerminalOutput):
		return TypeTerminalOutput
	}
	return Type(name)
}

// Members yields the names and values of an object that is known to be valid JSON
// without spaces between them, as they are written: names without their quotes. It ends
// early where the object is another.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := object; len(rest) > 1 && (rest[0] == '{' || rest[0] == ',') && rest[1] == '"'; {
			n := 1 + stringLength(rest[1:])
			if n < 3 || n >= len(rest) || rest[n] != ':' {
				return
			}
			name, end := rest[2:n-1], n+1+valueLength(rest[n+1:])
			if end == n+1 || !yield(name, rest[n+1:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// valueLength is the length of the value that text begins with; 0 if it does not end.
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
