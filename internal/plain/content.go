package plain

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/abidehub/abide/session/event"
)

// block is one content block of an agent, as ACP has it.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Name string `json:"name"`
	URI  string `json:"uri"`
}

func blockName(raw json.RawMessage) string {
	var b block
	if json.Unmarshal(raw, &b) != nil || b.Type == "" {
		return "content"
	}
	for _, more := range []string{b.Name, b.URI} {
		if more != "" {
			return Line(b.Type + ": " + more)
		}
	}
	return Line(b.Type)
}

// entry is one entry of a tool call's content.
type entry struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Path    string          `json:"path"`
	OldText *string         `json:"oldText"`
	NewText string          `json:"newText"`
}

// Asked is the action that a permission request would allow, beside its title: the
// input as a person reads it, the text and the changes of its tool call, or the fields of its
// form, each line indented.
func Asked(q event.PermissionRequest, style Style) string { return asked(q, nil, style) }

// askedCall is the tool call of a permission request, as ACP has it.
type askedCall struct {
	ToolCallID string          `json:"toolCallId"`
	RawInput   json.RawMessage `json:"rawInput"`
	Content    json.RawMessage `json:"content"`
}

func callOf(q event.PermissionRequest) askedCall {
	var call askedCall
	_ = json.Unmarshal(q.ToolCall, &call) // a request without a call has none of it
	return call
}

// asked is Asked over the known facts of the call; nil if there are none.
func asked(q event.PermissionRequest, known *event.ToolCallFields, style Style) string {
	call := callOf(q)
	if known != nil && input(call.RawInput, nil) == "" {
		call.RawInput = known.RawInput
	}
	if known != nil && toolDetail(call.Content, style) == "" {
		call.Content = known.Whole()
	}
	var b strings.Builder
	b.WriteString(input(call.RawInput, call.Content))
	b.WriteString(toolDetail(call.Content, style))
	for _, field := range Fields(q.Form) {
		b.WriteString(field.String() + "\n")
	}
	if q.URL != "" {
		b.WriteString("visit " + Line(q.URL) + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimRight(b.String(), "\n"), "\n", "\n  ") + "\n"
}

// toolDetail is the text and the changes of a tool call. Changes are unified
// diffs that patch can read.
func toolDetail(raw json.RawMessage, style Style) string {
	var entries []entry
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &entries) != nil {
		return fmt.Sprintf("  [%d bytes; the web app shows them]\n", len(raw))
	}
	var b strings.Builder
	for _, e := range entries {
		switch e.Type {
		case "diff":
			b.WriteString(change(e, style))
		case "content":
			b.WriteString(indented(e.Content))
		}
	}
	return b.String()
}

// texts are the texts of a tool call's content.
func texts(raw json.RawMessage) string {
	var entries []entry
	_ = json.Unmarshal(raw, &entries) // other content has none
	var b strings.Builder
	for _, e := range entries {
		var content block
		if json.Unmarshal(e.Content, &content) == nil {
			b.WriteString(content.Text + "\n")
		}
	}
	return b.String()
}

func change(e entry, style Style) string {
	old := ""
	if e.OldText != nil {
		old = *e.OldText
	}
	name := Line(e.Path)
	text := string(diff.Diff(name, []byte(old), name, []byte(e.NewText)))
	_, hunks, _ := strings.Cut(text, "\n") // the first line names the program
	lines := strings.Split(Text(hunks), "\n")
	for i, line := range lines {
		switch {
		case i < 2: // the names of the file
			lines[i] = style.Bold(line)
		case strings.HasPrefix(line, "+"):
			lines[i] = style.Green(line)
		case strings.HasPrefix(line, "-"):
			lines[i] = style.Red(line)
		case strings.HasPrefix(line, "@@"):
			lines[i] = style.Dim(line)
		}
	}
	return strings.Join(lines, "\n")
}

func indented(raw json.RawMessage) string {
	var b block
	if json.Unmarshal(raw, &b) != nil || b.Type != "text" {
		return "  [" + blockName(raw) + "]\n"
	}
	text := strings.TrimRight(Text(b.Text), "\n")
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
