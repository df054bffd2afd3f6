package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// appendPayload appends the JSON of the kinds that agents stream, byte by byte as
// encoding/json writes their structs without escaping HTML, and without its
// reflection. ok is false for every other kind.
func appendPayload(dst []byte, p Payload) (data []byte, ok bool, err error) {
	w := objectWriter{dst: dst}
	switch p := p.(type) {
	case AgentMessage:
		w.chunk(p.MessageID, p.Text, p.Content, p.Raw)
	case AgentThought:
		w.chunk(p.MessageID, p.Text, p.Content, p.Raw)
	case ToolCall:
		w.toolCall(&p.ToolCallFields)
	case ToolCallUpdate:
		w.toolCall(&p.ToolCallFields)
	case TerminalOutput:
		if p.Exit != nil {
			return dst, false, nil
		}
		w.text(`{"terminal_id":`, p.TerminalID)
		w.optional(`,"tool_call_id":`, p.ToolCallID)
		w.text(`,"data":`, string(p.Data))
	default:
		return dst, false, nil
	}
	return append(w.dst, '}'), true, w.err
}

// sizeHint is about how long the JSON of a streamed payload is.
func sizeHint(p Payload) int {
	const keys = 64
	switch p := p.(type) {
	case AgentMessage:
		return keys + len(p.MessageID) + len(p.Text) + len(p.Text)/16 + len(p.Content) + len(p.Raw)
	case AgentThought:
		return keys + len(p.MessageID) + len(p.Text) + len(p.Text)/16 + len(p.Content) + len(p.Raw)
	case ToolCall:
		return 2*keys + p.bytes()
	case ToolCallUpdate:
		return 2*keys + p.bytes()
	case TerminalOutput:
		return keys + len(p.TerminalID) + len(p.ToolCallID) + len(p.Data) + len(p.Data)/16
	}
	return 0
}

func (f *ToolCallFields) bytes() int {
	return len(f.ToolCallID) + len(f.Title) + len(f.Kind) + len(f.Status) + len(f.Content) + len(f.ContentAdded) + len(f.ContentAdded)/16 + 64*len(f.Locations) +
		len(f.RawInput) + len(f.RawOutput) + f.OutputGrown.bytes() + len(f.Raw)
}

func (g *Grown) bytes() int {
	if g == nil {
		return 0
	}
	return 64 + len(g.Member) + len(g.Added) + len(g.Added)/16
}

// objectWriter appends the members of one object. A key includes the punctuation
// before it.
type objectWriter struct {
	dst []byte
	err error // the first raw value that is no JSON
}

func (w *objectWriter) chunk(id string, text Text, content, raw json.RawMessage) {
	w.text(`{"message_id":`, id)
	w.optional(`,"text":`, string(text))
	w.raw(`,"content":`, content)
	w.raw(`,"raw":`, raw)
}

func (w *objectWriter) toolCall(f *ToolCallFields) {
	w.text(`{"tool_call_id":`, f.ToolCallID)
	w.optional(`,"title":`, f.Title)
	w.optional(`,"kind":`, string(f.Kind))
	w.optional(`,"status":`, string(f.Status))
	w.raw(`,"content":`, f.Content)
	if f.ContentCut > 0 {
		w.dst = strconv.AppendInt(append(w.dst, `,"content_cut":`...), int64(f.ContentCut), 10)
	}
	w.optional(`,"content_added":`, string(f.ContentAdded))
	if len(f.Locations) > 0 {
		w.locations(f.Locations)
	}
	w.raw(`,"raw_input":`, f.RawInput)
	w.raw(`,"raw_output":`, f.RawOutput)
	if g := f.OutputGrown; g != nil {
		w.text(`,"output_grown":{"added":`, g.Added)
		w.optional(`,"member":`, g.Member)
		if g.Cut > 0 {
			w.dst = strconv.AppendInt(append(w.dst, `,"cut":`...), int64(g.Cut), 10)
		}
		w.dst = append(w.dst, '}')
	}
	if f.Synthetic {
		w.dst = append(w.dst, `,"synthetic":true`...)
	}
	w.raw(`,"raw":`, f.Raw)
}

func (w *objectWriter) locations(list []Location) {
	separator := `,"locations":[{"path":`
	for _, l := range list {
		w.text(separator, l.Path)
		if l.Line != nil {
			w.dst = strconv.AppendInt(append(w.dst, `,"line":`...), int64(*l.Line), 10)
		}
		separator = `},{"path":`
	}
	w.dst = append(w.dst, "}]"...)
}

func (w *objectWriter) text(key, value string) {
	w.dst = appendString(append(w.dst, key...), value)
}

func (w *objectWriter) optional(key, value string) {
	if value != "" {
		w.text(key, value)
	}
}

// raw appends a value without its spaces.
func (w *objectWriter) raw(key string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	buf := bytes.NewBuffer(append(w.dst, key...))
	if err := json.Compact(buf, value); err != nil && w.err == nil {
		w.err = err
	}
	w.dst = buf.Bytes()
}

// appendString quotes a string.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) && plain(s[i:i+8]) {
			i += 8
			continue
		}
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\b':
				dst = append(dst, `\b`...)
			case '\f':
				dst = append(dst, `\f`...)
			case '\n':
				dst = append(dst, `\n`...)
			case '\r':
				dst = append(dst, `\r`...)
			case '\t':
				dst = append(dst, `\t`...)
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029': // JavaScript takes them for line ends
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hex[r&15])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// plain reports whether eight bytes are ASCII and stand for themselves in a JSON
// string. It looks at all of them at once, as most bytes that agents stream are.
func plain(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, backslash := x^'"'*ones, x^'\\'*ones
	return (x|(x-' '*ones)|(quote-ones)|(backslash-ones))&high == 0
}
