package event

import (
	"bytes"
	"encoding/json"
	"slices"
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
		f.Content, f.ContentAdded = withChanges(f.Content, later), ""
	}
	f.ContentAdded += later.ContentAdded
	if later.Locations != nil {
		f.Locations = later.Locations
	}
	if later.RawInput != nil {
		f.RawInput = later.RawInput
	}
	if later.RawOutput != nil {
		f.RawOutput = later.RawOutput
	}
	f.Synthetic = f.Synthetic || later.Synthetic
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

// Whole returns Content with ContentAdded at the end of its last text. A text that is
// not there, or that became a blob, is continued in a block of its own.
func (f *ToolCallFields) Whole() json.RawMessage {
	if f.ContentAdded == "" {
		return f.Content
	}
	var entries []json.RawMessage
	_ = json.Unmarshal(f.Content, &entries) // absent, or no array: then only the added text is known
	if n := len(entries) - 1; n >= 0 {
		if longer, ok := longerText(entries[n], f.ContentAdded); ok {
			entries[n] = longer
			return unescaped(entries)
		}
	}
	block := map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": f.ContentAdded}}
	return unescaped(append(entries, unescaped(block)))
}

// longerText adds to the text of one entry of a content.
func longerText(entry json.RawMessage, added Text) (json.RawMessage, bool) {
	var members, block map[string]json.RawMessage
	var text string
	if json.Unmarshal(entry, &members) != nil || json.Unmarshal(members["content"], &block) != nil ||
		json.Unmarshal(block["text"], &text) != nil {
		return nil, false
	}
	block["text"] = unescaped(text + string(added))
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
