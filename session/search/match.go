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

// passage is text that belongs together: a prompt, a tool's title and command, or the
// chunks of one message. It is not known yet whether it has a match: it holds its lines,
// and their text with its case taken away, perhaps with more around it.
type passage struct {
	open   bool
	joined bool
	id     []byte
	lines  [][]byte
	folded []byte
}

// begin makes it the passage of a line that says something.
func (p *passage) begin(g lineText) {
	*p = passage{
		open: true, joined: g.joined, id: append(p.id[:0], g.id...), lines: p.lines[:0], folded: p.folded[:0],
	}
}

// has tells whether a line goes on in it.
func (p *passage) has(g lineText) bool {
	return p.open && p.joined && g.joined && bytes.Equal(p.id, g.id)
}

// add appends a line.
func (p *passage) add(line []byte, g lineText) {
	p.lines = append(p.lines, line)
	for i, text := range g.texts {
		if i > 0 && text != nil {
			p.folded = append(p.folded, '\n')
		}
		if len(text) > 1 && text[0] == '"' {
			text = text[1 : len(text)-1] // quotes would part the chunks of a message
		}
		p.folded = appendFoldJSON(p.folded, text)
	}
}

// checkEvery is after how many bytes of lines a scan asks whether it is still
// wanted.
const checkEvery = 256 << 10

// window finds the hits of a window, newest first. The error is ctx's.
func (s *scan) window(ctx context.Context, source Source, w window) ([]Hit, error) {
	var hits []Hit
	settle := func() {
		if s.passage.open && s.query.in(s.passage.folded) {
			hits = s.query.match(hits, source, s.passage.lines, w.end)
		}
		s.passage.open = false
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
		kind, rest := kindOf(line)
		if kind == "" {
			continue
		}
		seq, intact := seqOf(line), logfile.Intact(line)
		if seq > source.MaxSeq && !intact {
			continue // a damaged number; the rest may be whole
		}
		if intact && (seq > source.MaxSeq || seq >= w.end && !s.passage.open) {
			break
		}
		g, ok := lineText{}, false
		if intact {
			g, ok = lineTextAt(kind, rest)
		}
		if !ok {
			g, ok = decoded(line)
		}
		if !ok || g.texts[0] == nil {
			continue
		}
		if !s.passage.has(g) {
			settle()
			if seq >= w.end {
				break
			}
			s.passage.begin(g)
		}
		s.passage.add(line, g)
	}
	settle()
	slices.Reverse(hits)
	return hits, nil
}

// decoded reads a line by decoding it. It is false for one that is no event or says
// nothing.
func decoded(line []byte) (lineText, bool) {
	r, ok := read(line)
	if !ok {
		return lineText{}, false
	}
	text, err := json.Marshal(r.Text)
	return lineText{joined: r.event.Type == event.TypeAgentMessage, id: []byte(r.MessageID), texts: [2][]byte{text}}, err == nil
}

// reading is a decoded line.
type reading struct {
	event event.Event
	Said
}

// read decodes a line. A line that is no event has no text: damage is reported by the
// log.
func read(line []byte) (r reading, ok bool) {
	if json.Unmarshal(line, &r.event) != nil {
		return reading{}, false
	}
	r.Said, ok = SaidBy(r.event)
	return r, ok
}

// match adds the hit in a passage's lines, if there is one that begins below end.
func (q *Query) match(hits []Hit, source Source, lines [][]byte, end event.Seq) []Hit {
	var p Passage
	for _, line := range lines {
		if r, ok := read(line); ok {
			p.Add(r.event, r.Said)
		}
	}
	hit, _, ok := q.In(p)
	if !ok || hit.Seq >= end || hit.Seq <= source.After {
		return hits
	}
	hit.SessionID, hit.Name = source.SessionID, source.Name
	return append(hits, hit)
}

// in tells whether a folded text has all parts of the query.
func (q *Query) in(folded []byte) bool {
	for _, part := range q.parts {
		if !bytes.Contains(folded, part) {
			return false
		}
	}
	return true
}

// ranges are the matches in a snippet: the first of its longest part, and of each other part
// the first beside those.
func (q *Query) ranges(snippet string, first [2]int) [][2]int {
	ranges := [][2]int{first}
	if len(q.parts) == 1 {
		return ranges
	}
	folded, begins, ends := foldedFrom(snippet)
	for _, part := range q.parts[1:] {
		at := bytes.Index(folded, part)
		if at < 0 {
			continue
		}
		from := units(snippet[:begins[at]])
		to := from + units(snippet[begins[at]:ends[at+len(part)-1]])
		if !slices.ContainsFunc(ranges, func(r [2]int) bool { return from < r[1] && r[0] < to }) {
			ranges = append(ranges, [2]int{from, to})
		}
	}
	slices.SortFunc(ranges, func(a, b [2]int) int { return a[0] - b[0] })
	return ranges
}

// excerpt is the text around a match, and how many units of it come before the
// match. It begins and ends with whole words; where a word is longer than an
// excerpt goes, an ellipsis says that it was cut.
func excerpt(text string, from, to int) (snippet string, before int) {
	const ellipsis = "…"
	left, right := max(from-around, 0), min(to+around, len(text))
	lead, tail := text[left:from], text[to:right]
	if r, _ := utf8.DecodeLastRuneInString(text[:left]); left > 0 && !unicode.IsSpace(r) {
		if at := strings.IndexFunc(lead, unicode.IsSpace); at >= 0 {
			lead = lead[at:]
		} else {
			lead = ellipsis + strings.ToValidUTF8(lead, "")
		}
	}
	if r, _ := utf8.DecodeRuneInString(text[right:]); right < len(text) && !unicode.IsSpace(r) {
		if at := strings.LastIndexFunc(tail, unicode.IsSpace); at >= 0 {
			tail = tail[:at]
		} else {
			tail = strings.ToValidUTF8(tail, "") + ellipsis
		}
	}
	lead = strings.TrimLeftFunc(lead, unicode.IsSpace)
	return lead + text[from:to] + strings.TrimRightFunc(tail, unicode.IsSpace), units(lead)
}

// units is the length of a text in UTF-16 code units.
func units(text string) int { return len(utf16.Encode([]rune(text))) }
