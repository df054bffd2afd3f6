package search

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// around is how many bytes of text a snippet shows before and after its match.
const around = 80

// messageKey begins the key of every message.
const messageKey = "m"

// passage is text that belongs together: a prompt, a tool's title, or the
// chunks of one message.
type passage struct {
	head   event.Event
	key    string // of a message, whose next chunk joins; begins with messageKey
	text   strings.Builder
	chunks []chunk
}

// chunk says where an event's text begins in its passage.
type chunk struct {
	at    int
	event event.Event
}

// suspect is a passage of which it is not known yet whether it has a match: its
// lines, and their text with its case taken away, perhaps with more around it.
type suspect struct {
	open   bool
	joined bool
	id     []byte
	lines  [][]byte
	folded []byte
}

// begin makes it the passage of a line that says something.
func (s *suspect) begin(g lineText) {
	*s = suspect{
		open: true, joined: g.joined, id: append(s.id[:0], g.id...), lines: s.lines[:0], folded: s.folded[:0],
	}
}

// has tells whether a line goes on in it.
func (s *suspect) has(g lineText) bool {
	return s.open && s.joined && g.joined && bytes.Equal(s.id, g.id)
}

// add appends a line.
func (s *suspect) add(line []byte, g lineText) {
	s.lines = append(s.lines, line)
	for i, text := range g.texts {
		if i > 0 && text != nil {
			s.folded = append(s.folded, '\n')
		}
		if len(text) > 1 && text[0] == '"' {
			text = text[1 : len(text)-1] // quotes would part the chunks of a message
		}
		s.folded = appendFoldJSON(s.folded, text)
	}
}

// checkEvery is after how many bytes of lines a scan asks whether it is still
// wanted.
const checkEvery = 256 << 10

// window finds the hits of a window, newest first. The error is ctx's.
func (s *scan) window(ctx context.Context, source Source, w window) ([]Hit, error) {
	var hits []Hit
	settle := func() {
		if s.suspect.open && bytes.Contains(s.suspect.folded, s.query.folded) {
			hits = s.query.match(hits, source, s.suspect.passage(), w.end)
		}
		s.suspect.open = false
	}
	unchecked := 0
	for text := w.text; len(text) > 0; {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break // being written, or cut off by the window's end
		}
		line := text[:end]
		text = text[end+1:]
		if unchecked += end; unchecked > checkEvery {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			unchecked = 0
		}
		h, canonical := headOf(line)
		if canonical && h.kindOf() == "" || !canonical && !spoken(line) {
			continue
		}
		seq := h.seq
		if !canonical {
			seq = seqOf(line)
		}
		if beyond := seq > source.MaxSeq; beyond || seq >= w.end && !s.suspect.open {
			if logfile.Intact(line) {
				break
			}
			if beyond {
				continue // a damaged number; the rest may be whole
			}
		}
		g, ok := lineTextOf(line, h)
		if !ok || g.texts[0] == nil {
			continue
		}
		if !s.suspect.has(g) {
			settle()
			if seq >= w.end {
				break
			}
			s.suspect.begin(g)
		}
		s.suspect.add(line, g)
	}
	settle()
	slices.Reverse(hits)
	return hits, nil
}

// lineTextOf reads a line, by decoding it where nothing less will do. It is false
// for one that is no event or says nothing.
func lineTextOf(line []byte, h head) (lineText, bool) {
	if g, ok := lineTextAt(line, h); ok {
		return g, true
	}
	p, piece, ok := read(line)
	if !ok {
		return lineText{}, false
	}
	text, err := json.Marshal(piece)
	id, joined := strings.CutPrefix(p.key, messageKey)
	return lineText{joined: joined, id: []byte(id), texts: [2][]byte{text}}, err == nil
}

// passage decodes the suspect's lines.
func (s *suspect) passage() *passage {
	var whole *passage
	for _, line := range s.lines {
		p, piece, ok := read(line)
		if !ok {
			continue
		}
		if whole == nil {
			whole = p
		}
		whole.chunks = append(whole.chunks, chunk{whole.text.Len(), p.head})
		whole.text.WriteString(piece)
	}
	return whole
}

// spoken tells of a line of another form whether it can hold text, before
// anything is decoded.
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

// read takes the text out of a line. A line that is no event has none: damage is
// reported by the log.
func read(line []byte) (*passage, string, bool) {
	var e event.Event
	if json.Unmarshal(line, &e) != nil {
		return nil, "", false
	}
	var data struct {
		MessageID string          `json:"message_id"`
		Text      event.Text      `json:"text"`
		Title     event.Text      `json:"title"`
		RawInput  json.RawMessage `json:"raw_input"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return nil, "", false
	}
	p := &passage{head: e}
	p.head.Data = nil
	piece := string(data.Text)
	switch e.Type {
	case event.TypeAgentMessage:
		p.key = messageKey + data.MessageID
	case event.TypeToolCall, event.TypeToolCallUpdate:
		piece = string(data.Title)
		if command := commandIn(data.RawInput); command != "" && command != piece {
			piece += "\n" + command
		}
	}
	return p, piece, piece != ""
}

// commandIn is the command in a tool's input; empty if it has none.
func commandIn(input []byte) string {
	var members map[string]json.RawMessage
	if len(input) == 0 || input[0] != '{' || json.Unmarshal(input, &members) != nil {
		return ""
	}
	var command event.Text
	if json.Unmarshal(members["command"], &command) != nil {
		return ""
	}
	return string(command)
}

// match adds the passage's hit, if it has one that begins below end.
func (q *Query) match(hits []Hit, source Source, p *passage, end event.Seq) []Hit {
	if p == nil {
		return hits
	}
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
	snippet, start := excerpt(text, from, to)
	return append(hits, Hit{
		SessionID: source.SessionID, Name: source.Name, Seq: begins.Seq, Type: begins.Type, Time: begins.Time,
		Snippet: snippet, Ranges: [][2]int{{start, start + units(text[from:to])}},
	})
}

// excerpt is the text around a match, and how many units of it come before the
// match. It begins and ends with whole words; where a word is longer than an
// excerpt goes, an ellipsis says that it was cut.
func excerpt(text string, from, to int) (snippet string, before int) {
	left, right := max(from-around, 0), min(to+around, len(text))
	var head, tail string
	if left > 0 && !spaceBefore(text, left) {
		if at := strings.IndexFunc(text[left:from], unicode.IsSpace); at >= 0 {
			left += at
		} else {
			left, head = runeStart(text, left), ellipsis
		}
	}
	if right < len(text) && !unicode.IsSpace(runeAt(text, right)) {
		if at := strings.LastIndexFunc(text[to:right], unicode.IsSpace); at >= 0 {
			right = to + at
		} else {
			right, tail = runeStart(text, right), ellipsis
		}
	}
	lead := head + strings.TrimLeftFunc(text[left:from], unicode.IsSpace)
	return lead + text[from:to] + strings.TrimRightFunc(text[to:right], unicode.IsSpace) + tail, units(lead)
}

const ellipsis = "…"

func spaceBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsSpace(r)
}

func runeAt(text string, at int) rune {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return r
}

// runeStart is where the rune begins of which a byte is at.
func runeStart(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}
