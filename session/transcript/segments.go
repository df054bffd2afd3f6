package transcript

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/abidehub/abide/session/event"
)

const (
	// NoteSegment is the method of the notes of a segmented restore: the segments
	// that an agent was told and its answers.
	NoteSegment = "abide/restore_segment"
	// segmentsBytes bounds the text of all segments: more than any model reads. The
	// newest is kept.
	segmentsBytes = 8 << 20
	// inputShown bounds the input of a tool call, in bytes.
	inputShown = 2000
)

// Segment is a piece of a session as text, for an agent that is told all of it.
type Segment struct {
	Text string
	// Tokens is about how many tokens Text has.
	Tokens int
}

// Segments cuts a session into pieces of about so many tokens. Longer text is
// split. One goroutine uses it.
type Segments struct {
	limit int
	turns Transcript // the part not told yet: one turn at a time
	now   int        // the turn that is open
	since event.Seq  // the first event of the part not told yet

	told   []told // the newest texts, which an undo may take back
	size   int    // of them
	unsaid Unsaid[told]

	list   []Segment
	bytes  int // of the texts in list
	left   int // pieces of the oldest text that were left out
	text   strings.Builder
	tokens int
}

// told is the text of a part of a turn, and the seq of its first event.
type told struct {
	texts []string
	seq   event.Seq
}

// NewSegments cuts into pieces of at most limit tokens.
func NewSegments(limit int) *Segments { return &Segments{limit: max(1, limit)} }

// Apply folds the next event in. The first one may have any seq.
func (s *Segments) Apply(e event.Event) {
	if e.Type == event.TypeNote { // housekeeping, and segments of an earlier restore among it
		if p, err := e.Payload(); err == nil {
			s.note(p.(event.Note))
		}
		return
	}
	if e.Type == event.TypeTurnStart {
		s.unsaid.Settle()
	}
	if e.Turn > s.now {
		s.tell()
		s.now = e.Turn
	}
	first := e.Seq
	if e.FirstSeq != 0 {
		first = e.FirstSeq
	}
	if s.since == 0 {
		s.since = first
	}
	s.turns.LastSeq = max(s.turns.LastSeq, first-1)
	_ = s.turns.Apply(e) // it is the next one
}

// List ends the session and returns its pieces. left is how many of the oldest were
// left out, as there are too many.
func (s *Segments) List() (list []Segment, left int) {
	s.tell()
	for len(s.told) > 0 {
		s.settle()
	}
	s.cut()
	return s.list, s.left
}

// note tells what an original's fork begins with, or takes back what was undone.
func (s *Segments) note(n event.Note) {
	if n.Statement() == NoteForked {
		s.tell()
		s.keep(told{[]string{string(n.Text)}, s.turns.LastSeq})
	}
	if u := UndoOf(n); u != nil {
		s.tell()
		s.told = s.unsaid.Apply(*u, s.told, func(t told) event.Seq { return t.seq })
	}
}

// keep adds texts to those that may yet be taken back.
func (s *Segments) keep(t told) {
	s.told = append(s.told, t)
	for _, text := range t.texts {
		s.size += len(text)
	}
	for s.size > segmentsBytes && len(s.told) > 1 {
		s.settle()
	}
}

// settle makes pieces of the oldest texts that could be taken back.
func (s *Segments) settle() {
	for _, text := range s.told[0].texts {
		s.size -= len(text)
		s.piece(text)
	}
	s.told = s.told[1:]
}

// tell writes the entries so far, and forgets them.
func (s *Segments) tell() {
	t := told{seq: s.since}
	for _, turn := range s.turns.Turns {
		if turn.Prompt != nil {
			t.texts = append(t.texts, "User:\n"+strings.TrimSpace(string(turn.Prompt.Text))+"\n\n")
		}
		for _, entry := range turn.Entries {
			t.texts = append(t.texts, entryText(entry))
		}
		if cut := turn.Interrupted; cut != nil {
			t.texts = append(t.texts, "(This turn was interrupted.)\n\n")
		}
	}
	s.keep(t)
	s.turns, s.since = Transcript{LastSeq: s.turns.LastSeq}, 0
}

// piece adds a text. One that does not fit begins another segment; one that is longer
// than a segment is split.
func (s *Segments) piece(text string) {
	tokens := Tokens(text)
	if s.tokens+tokens > s.limit {
		s.cut()
	}
	for tokens > s.limit {
		end := upToTokens(text, s.limit)
		s.text.WriteString(text[:end])
		s.tokens = Tokens(text[:end])
		s.cut()
		text = text[end:]
		tokens = Tokens(text)
	}
	s.text.WriteString(text)
	s.tokens += tokens
}

// cut ends a segment.
func (s *Segments) cut() {
	if text := s.text.String(); strings.TrimSpace(text) != "" {
		s.list = append(s.list, Segment{Text: text, Tokens: s.tokens})
		s.bytes += len(text)
	}
	s.text, s.tokens = strings.Builder{}, 0
	for s.bytes > segmentsBytes && len(s.list) > 1 {
		s.bytes -= len(s.list[0].Text)
		s.list = s.list[1:]
		s.left++
	}
}

// entryText is the text of an entry for an agent. Thoughts, permissions and
// housekeeping are left out.
func entryText(entry *Entry) string {
	switch entry.Kind {
	case Message:
		if text := strings.TrimSpace(entry.Text); text != "" {
			return "Assistant:\n" + text + "\n\n"
		}
	case Tool:
		return toolText(entry.Tool)
	}
	return ""
}

func toolText(tool *event.ToolCallFields) string {
	if tool.Title == "" {
		return "" // the end of a call that is told already
	}
	var b strings.Builder
	b.WriteString("Tool call: " + tool.Title + " (" + cmp.Or(string(tool.Status), "pending") + ")\n")
	if input := string(tool.RawInput); len(input) > 2 && len(input) <= inputShown {
		b.WriteString("Input: " + input + "\n")
	}
	var content []struct {
		Type    string     `json:"type"`
		Path    string     `json:"path"`
		New     event.Text `json:"newText"`
		Content struct {
			Text event.Text `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(tool.Whole(), &content) // unreadable content is left out
	for _, c := range content {
		switch {
		case c.Type == "diff":
			b.WriteString("Changed " + c.Path + ", new text:\n" + string(c.New) + "\n")
		case c.Content.Text != "":
			b.WriteString("Output:\n" + string(c.Content.Text) + "\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}
