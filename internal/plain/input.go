package plain

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// input is the input of a tool call as a person reads it: a command as in a shell, a path,
// and a line for each other value. Text that the changes in content show is left out.
func input(raw, content json.RawMessage) string {
	names := keys(raw)
	if names == nil {
		return loose(raw)
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal(raw, &values) // keys has read it
	var b strings.Builder
	for _, name := range names {
		value := values[name]
		switch text, is := commandOf(value); {
		case is && (name == "command" || name == "cmd"):
			b.WriteString("$ " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
			continue
		case shown(value, content):
			continue
		}
		b.WriteString(named(name, value))
	}
	return b.String()
}

// commandOf is a command line: a text, or words.
func commandOf(raw json.RawMessage) (string, bool) {
	line := ""
	if json.Unmarshal(raw, &line) == nil {
		return strings.TrimRight(Text(line), "\n"), true
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		return "", false
	}
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[](){}<>|&;#!~") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return Text(strings.Join(words, " ")), true
}

// shown reports whether content shows a text: as one of its own, or in a change as its path, or
// the text of before or after.
func shown(raw, content json.RawMessage) bool {
	text := ""
	if json.Unmarshal(raw, &text) != nil {
		return false
	}
	var entries []entry
	_ = json.Unmarshal(content, &entries) // other content shows nothing
	return slices.ContainsFunc(entries, func(e entry) bool {
		if e.Type == "content" {
			return text != "" && strings.TrimSpace(text) == strings.TrimSpace(indented(e.Content))
		}
		return e.Type == "diff" && text != "" && (text == e.Path || text == e.NewText || e.OldText != nil && text == *e.OldText)
	})
}

// named is a value with its name: in one line, or below it where it has several.
func named(name string, raw json.RawMessage) string {
	text := strings.TrimRight(loose(raw), "\n")
	if slices.Contains([]string{"path", "file_path", "filePath", "abs_path", "notebook_path"}, name) && text != "" {
		return Line(text) + "\n"
	}
	if strings.Contains(text, "\n") {
		return Line(name) + ":\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
	}
	return Line(name) + ": " + text + "\n"
}

// loose is any JSON as a person reads it: a text without quotes, and what is nested in
// lines of its own.
func loose(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return ""
	}
	text := ""
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimRight(Text(text), "\n") + "\n"
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return Text(string(raw)) + "\n"
	}
	return Text(b.String()) + "\n"
}
