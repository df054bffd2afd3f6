package event

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// Upsert updates the fields with those of a later event of the same call. It does not
// change ToolCallID and Raw.
func (f *ToolCallFields) Upsert(later ToolCallFields) {
	if later.Title != "" {
		f.Title = later.Title
	}
	if later.Kind != "" {
		f.Kind = later.Kind
	}
	if later.Status != "" {
		f.Status = later.Status
	}
	if later.Content != nil {
		f.Content, f.ContentAdded, f.ContentCut = withChanges(f.Content, later), "", 0
	}
	f.Continue(later)
	if later.Locations != nil {
		f.Locations = later.Locations
	}
	if later.RawInput != nil {
		f.RawInput = later.RawInput
	}
	if later.RawOutput != nil {
		f.RawOutput, f.OutputGrown = later.RawOutput, nil
	}
	f.OutputGrown = f.OutputGrown.Then(later.OutputGrown)
	f.Synthetic = f.Synthetic || later.Synthetic
}

// Continue adds to the content what a later event of the call adds to it.
func (f *ToolCallFields) Continue(later ToolCallFields) {
	grown := Grown{Cut: f.ContentCut, Added: string(f.ContentAdded)}.then(Grown{Cut: later.ContentCut, Added: string(later.ContentAdded)})
	f.ContentCut, f.ContentAdded = grown.Cut, Text(grown.Added)
}

// Then joins two steps in which a text grew. Either may be nil. Of two texts, the later
// counts.
func (g *Grown) Then(later *Grown) *Grown {
	switch {
	case later == nil:
		return g
	case g == nil || g.Member != later.Member:
		return later
	}
	both := g.then(*later)
	return &both
}

func (g Grown) then(later Grown) Grown {
	rest, left := CutEnd(g.Added, later.Cut)
	return Grown{Member: g.Member, Cut: g.Cut + left, Added: rest + later.Added}
}

// of is the text that a text became.
func (g Grown) of(text string) string {
	rest, _ := CutEnd(text, g.Cut)
	return rest + g.Added
}

// CutEnd cuts characters from the end of a text. left is how many it did not have.
func CutEnd(text string, characters int) (rest string, left int) {
	for ; characters > 0 && text != ""; characters-- {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text, characters
}

// WholeOutput returns RawOutput with its text as it has grown.
func (f *ToolCallFields) WholeOutput() json.RawMessage {
	g := f.OutputGrown
	if g == nil {
		return f.RawOutput
	}
	var text string
	if g.Member == "" {
		if f.RawOutput != nil && json.Unmarshal(f.RawOutput, &text) != nil {
			return f.RawOutput // a blob
		}
		return unescaped(g.of(text))
	}
	members := map[string]json.RawMessage{}
	if f.RawOutput != nil && json.Unmarshal(f.RawOutput, &members) != nil || members["blob"] != nil {
		return f.RawOutput
	}
	_ = json.Unmarshal(members[g.Member], &text) // absent in a part of a log
	members[g.Member] = unescaped(g.of(text))
	return unescaped(members)
}

// withChanges returns a call's new content. Agents put a word of success in the place of
// a change: the change stays with its call, unless that failed.
func withChanges(before json.RawMessage, later ToolCallFields) json.RawMessage {
	const mark = `"diff"`
	if later.Status == ToolFailed || !bytes.Contains(before, []byte(mark)) || bytes.Contains(later.Content, []byte(mark)) {
		return later.Content
	}
	var entries, now []json.RawMessage
	if json.Unmarshal(before, &entries) != nil || json.Unmarshal(later.Content, &now) != nil {
		return later.Content
	}
	all := slices.DeleteFunc(entries, func(entry json.RawMessage) bool {
		var e struct {
			Type string `json:"type"`
		}
		return json.Unmarshal(entry, &e) != nil || e.Type != "diff"
	})
	return unescaped(append(all, now...))
}

// Whole returns Content with its last text as it has grown. A text that is not there, or
// that became a blob, is continued in a block of its own.
func (f *ToolCallFields) Whole() json.RawMessage {
	if f.ContentAdded == "" && f.ContentCut == 0 {
		return f.Content
	}
	var entries []json.RawMessage
	_ = json.Unmarshal(f.Content, &entries) // absent, or no array: then only the added text is known
	if n := len(entries) - 1; n >= 0 {
		if longer, ok := longerText(entries[n], Grown{Cut: f.ContentCut, Added: string(f.ContentAdded)}); ok {
			entries[n] = longer
			return unescaped(entries)
		}
	}
	if f.ContentAdded == "" {
		return f.Content
	}
	block := map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": f.ContentAdded}}
	return unescaped(append(entries, unescaped(block)))
}

// longerText is one entry of a content with its text as it has grown.
func longerText(entry json.RawMessage, grown Grown) (json.RawMessage, bool) {
	var members, block map[string]json.RawMessage
	var text string
	if json.Unmarshal(entry, &members) != nil || json.Unmarshal(members["content"], &block) != nil ||
		json.Unmarshal(block["text"], &text) != nil {
		return nil, false
	}
	block["text"] = unescaped(grown.of(text))
	members["content"] = unescaped(block)
	return unescaped(members), true
}

// unescaped encodes a value that cannot fail to encode, without escaping HTML.
func unescaped(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
