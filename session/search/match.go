package search

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// around is how many bytes of text a snippet shows before and after its match.
const around = 80

// passage is text that belongs together: a prompt, a tool's title, or the
// chunks of one message.
type passage struct {
	head   event.Event
	key    string // of a message, whose next chunk joins
	text   strings.Builder
	chunks []chunk
}

// chunk says where an event's text begins in its passage.
type chunk struct {
	at    int
	event event.Event
}

// window finds the hits of a window, newest first.
func (q *Query) window(source Source, w window) []Hit {
	var hits []Hit
	var open *passage
	settle := func() {
		if open != nil {
			hits = q.match(hits, source, open, w.end)
			open = nil
		}
	}
	for text := w.text; len(text) > 0; {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break // being written, or cut off by the window's end
		}
		line := text[:end]
		text = text[end+1:]
		if !spoken(line) {
			continue
		}
		seq := seqOf(line)
		if seq > source.MaxSeq || seq >= w.end && open == nil {
			break
		}
		p, piece, ok := read(line)
		if !ok {
			continue
		}
		if open == nil || p.key == "" || p.key != open.key {
			settle()
			if seq >= w.end {
				break
			}
			open = p
		}
		open.chunks = append(open.chunks, chunk{open.text.Len(), p.head})
		open.text.WriteString(piece)
	}
	settle()
	slices.Reverse(hits)
	return hits
}

// spoken tells by a line's bytes whether it can hold text, before anything is
// decoded: the type stands behind a seq and a time of fixed form.
func spoken(line []byte) bool {
	head := line[:min(len(line), 128)]
	at := bytes.Index(head, []byte(`"type":"`))
	if at < 0 {
		return false
	}
	rest := head[at+len(`"type":"`):]
	return bytes.HasPrefix(rest, []byte("user_prompt")) || bytes.HasPrefix(rest, []byte("agent_message")) ||
		bytes.HasPrefix(rest, []byte("tool_call"))
}

// read takes the text out of a line. A line that is no event has none: what is
// damaged is the log's own business.
func read(line []byte) (*passage, string, bool) {
	var e event.Event
	if json.Unmarshal(line, &e) != nil {
		return nil, "", false
	}
	var data struct {
		MessageID string     `json:"message_id"`
		Text      event.Text `json:"text"`
		Title     string     `json:"title"`
		RawInput  any        `json:"raw_input"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return nil, "", false
	}
	p := &passage{head: e}
	p.head.Data = nil
	piece := string(data.Text)
	switch e.Type {
	case event.TypeAgentMessage:
		p.key = "m" + data.MessageID
	case event.TypeToolCall, event.TypeToolCallUpdate:
		piece = data.Title
		if input, ok := data.RawInput.(map[string]any); ok {
			if command, ok := input["command"].(string); ok && command != data.Title {
				piece += "\n" + command
			}
		}
	}
	return p, piece, piece != ""
}

// match adds the passage's hit, if it has one that begins below end.
func (q *Query) match(hits []Hit, source Source, p *passage, end event.Seq) []Hit {
	text := p.text.String()
	at := bytes.Index(appendFold(nil, text), q.folded)
	if at < 0 {
		return hits
	}
	from, to := unfolded(text, at), unfolded(text, at+len(q.folded))
	n, _ := slices.BinarySearchFunc(p.chunks, from+1, func(c chunk, at int) int { return c.at - at })
	begins := p.chunks[n-1].event
	if begins.Seq >= end {
		return hits
	}
	left, right := max(from-around, 0), min(to+around, len(text))
	for left > 0 && !utf8.RuneStart(text[left]) {
		left--
	}
	for right < len(text) && !utf8.RuneStart(text[right]) {
		right++
	}
	start := units(text[left:from])
	return append(hits, Hit{
		SessionID: source.SessionID, Name: source.Name, Seq: begins.Seq, Type: begins.Type, Time: begins.Time,
		Snippet: text[left:right], Ranges: [][2]int{{start, start + units(text[from:to])}},
	})
}

func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}
