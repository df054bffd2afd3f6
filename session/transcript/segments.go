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

	list   []Segment
	bytes  int // of the texts in list
	left   int // pieces of the oldest text that were left out
	text   strings.Builder
	tokens int
}

// NewSegments cuts into pieces of at most limit tokens.
func NewSegments(limit int) *Segments { return &Segments{limit: max(1, limit)} }

// Apply folds the next event in. The first one may have any seq.
func (s *Segments) Apply(e event.Event) {
	if e.Type == event.TypeNote { // housekeeping, and segments of an earlier restore among it
		if p, err := e.Payload(); err == nil && p.(event.Note).Statement() == NoteForked {
			s.piece(string(p.(event.Note).Text))
		}
		return
	}
	if e.Turn > s.now {
		s.tell()
		s.now = e.Turn
	}
	first := e.Seq
	if e.FirstSeq != 0 {
		first = e.FirstSeq
	}
	s.turns.LastSeq = max(s.turns.LastSeq, first-1)
	_ = s.turns.Apply(e) // it is the next one
}

// List ends the session and returns its pieces. left is how many of the oldest were
// left out, as there are too many.
func (s *Segments) List() (list []Segment, left int) {
	s.tell()
	s.cut()
	return s.list, s.left
}

// tell writes the entries so far, and forgets them.
func (s *Segments) tell() {
	for _, turn := range s.turns.Turns {
		if turn.Prompt != nil {
			s.piece("User:\n" + strings.TrimSpace(string(turn.Prompt.Text)) + "\n\n")
		}
		for _, entry := range turn.Entries {
			s.piece(entryText(entry))
		}
		if cut := turn.Interrupted; cut != nil {
			s.piece("(This turn was interrupted.)\n\n")
		}
	}
	s.turns = Transcript{LastSeq: s.turns.LastSeq}
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
