package search

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// Said is the text of an event that can be searched.
type Said struct {
	// MessageID joins the chunks of a message.
	MessageID string
	Text      string
	// By and ByID are the author of a prompt; empty otherwise.
	By, ByID string
}

// Searched reports whether events of a type can have text that is searched.
func Searched(kind event.Type) bool {
	switch kind {
	case event.TypeUserPrompt, event.TypeAgentMessage, event.TypeToolCall, event.TypeToolCallUpdate:
		return true
	}
	return false
}

// SaidBy returns the text of an event, and whether it has any.
func SaidBy(e event.Event) (Said, bool) {
	var data struct {
		MessageID string          `json:"message_id"`
		Text      event.Text      `json:"text"`
		Title     event.Text      `json:"title"`
		Actor     event.Text      `json:"actor"`
		ByID      event.Text      `json:"by_id"`
		RawInput  json.RawMessage `json:"raw_input"`
	}
	if !Searched(e.Type) || json.Unmarshal(e.Data, &data) != nil {
		return Said{}, false
	}
	said := Said{MessageID: data.MessageID, Text: string(data.Text)}
	switch e.Type {
	case event.TypeUserPrompt:
		said.By, said.ByID = string(data.Actor), string(data.ByID)
	case event.TypeToolCall, event.TypeToolCallUpdate:
		said.Text = string(data.Title)
		if command := commandIn(data.RawInput); command != "" && command != said.Text {
			said.Text += "\n" + command
		}
	}
	return said, said.Text != ""
}

// commandIn is the command in a tool's input; empty if it has none.
func commandIn(input []byte) string {
	var members map[string]json.RawMessage
	var command event.Text
	if json.Unmarshal(input, &members) != nil || json.Unmarshal(members["command"], &command) != nil {
		return ""
	}
	return string(command)
}

// Passage is text that belongs together: a prompt, a tool's title and command, or the chunks
// of one message.
type Passage struct {
	Type event.Type
	Text string
	// By and ByID are the author of a prompt.
	By, ByID string
	Pieces   []Piece
}

// Piece is the part of a passage that one event has: from At on, in bytes.
type Piece struct {
	At   int
	Seq  event.Seq
	Time time.Time
}

// Add appends the text of an event, of the same message if the passage has any.
func (p *Passage) Add(e event.Event, said Said) {
	if len(p.Pieces) == 0 {
		p.Type, p.By, p.ByID = e.Type, said.By, said.ByID
	}
	p.Pieces = append(p.Pieces, Piece{len(p.Text), e.Seq, e.Time})
	p.Text += said.Text
}

// In returns the hit of the query in a passage, without its session, and how well it matches:
// the more the better. It reports whether there is one.
func (q *Query) In(p Passage) (hit Hit, quality int, ok bool) {
	if len(p.Pieces) == 0 || !q.filter.keeps(p) {
		return Hit{}, 0, false
	}
	folded, begins, ends := foldedFrom(p.Text)
	if !q.in(folded) {
		return Hit{}, 0, false
	}
	at := bytes.Index(folded, q.parts[0])
	from, to := int(begins[at]), int(ends[at+len(q.parts[0])-1])
	n, _ := slices.BinarySearchFunc(p.Pieces, from+1, func(piece Piece, at int) int { return piece.At - at })
	first := p.Pieces[n-1]
	snippet, start := excerpt(p.Text, from, to)
	return Hit{
		Seq: first.Seq, Type: p.Type, Time: first.Time,
		Snippet: snippet, Ranges: q.ranges(snippet, [2]int{start, start + units(p.Text[from:to])}),
	}, q.quality(folded), true
}

// quality is how well a folded text has the parts of the query: 2 if each stands in it as
// words, 1 if each begins one, else 0.
func (q *Query) quality(folded []byte) int {
	quality := 2
	for _, part := range q.parts {
		best := 0
		for at := 0; best < quality; {
			next := bytes.Index(folded[at:], part)
			if next < 0 {
				break
			}
			at += next
			best = max(best, standing(folded, at, at+len(part)))
			at += len(part)
		}
		quality = min(quality, best)
	}
	return quality
}

// standing is 2 if a stretch of a text begins and ends with words, 1 if it begins with one.
func standing(text []byte, from, to int) int {
	before, _ := utf8.DecodeLastRune(text[:from])
	first, _ := utf8.DecodeRune(text[from:to])
	if from > 0 && inWord(before) && inWord(first) {
		return 0
	}
	last, _ := utf8.DecodeLastRune(text[from:to])
	after, _ := utf8.DecodeRune(text[to:])
	if to < len(text) && inWord(last) && inWord(after) {
		return 1
	}
	return 2
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// Fold returns a text as it is compared.
func Fold(text string) string { return string(appendFold(make([]byte, 0, len(text)), text)) }

// Parts are the words and phrases of the query as Fold makes them: a passage must have them
// all.
func (q *Query) Parts() []string {
	parts := make([]string, len(q.parts))
	for i, part := range q.parts {
		parts[i] = string(part)
	}
	return parts
}
