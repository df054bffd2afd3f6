package event

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// deepestOutput limits how deep the texts of a raw_output lie.
const deepestOutput = 4

// Output is the part of raw_output that shown, the text of the call's content, lacks: the output where nothing is shown, and
// stdout, stderr and the error of a call that failed. Agents put them into members of an object or of a list, or below another
// (testdata/raw_output.json; frontend/src/state/rawoutput.ts).
func (f *ToolCallFields) Output(shown string) string {
	whole := f.WholeOutput()
	failed := f.Status == ToolFailed || exitCode(whole, deepestOutput) != 0
	if shown != "" && !failed {
		return ""
	}
	var parts []string
	for _, text := range outputs(whole, failed, false, deepestOutput) {
		said := strings.TrimSpace(text)
		has := func(part string) bool { return strings.Contains(part, said) }
		if said == "" || has(shown) || slices.ContainsFunc(parts, has) {
			continue
		}
		parts = slices.DeleteFunc(parts, func(part string) bool { return strings.Contains(text, strings.TrimSpace(part)) })
		parts = append(parts, strings.TrimRight(text, "\n"))
	}
	return strings.Join(parts, "\n")
}

// outputs lists the texts of a raw_output in the order in which they are shown: of each object its output, and those of a
// failure if all is true. A text in a list is another thing.
func outputs(raw json.RawMessage, all, listed bool, depth int) (texts []string) {
	var text Text
	var list []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case depth == 0, len(raw) == 0, null(raw):
		return nil
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			texts = append(texts, outputs(one, all, true, depth-1)...)
		}
		return texts
	case json.Unmarshal(raw, &members) == nil && members["blob"] == nil:
		for _, name := range []string{"output", "formatted_output", "stdout"} {
			if told, has := members[name]; has && !null(told) {
				texts = outputs(told, all, false, depth-1)
				break
			}
		}
		if all {
			for _, name := range []string{"stdout", "stderr", "error", "message"} {
				texts = append(texts, outputs(members[name], all, false, depth-1)...)
			}
		}
		return texts
	case !listed && json.Unmarshal(raw, &text) == nil:
		return []string{string(text)}
	}
	return nil
}

// exitCode is the exit code in a raw_output; 0 if there is none.
func exitCode(raw json.RawMessage, depth int) (code int) {
	var list []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case depth == 0:
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			code = cmp.Or(code, exitCode(one, depth-1))
		}
	case json.Unmarshal(raw, &members) == nil:
		for _, name := range []string{"exit", "exitCode", "exit_code", "code"} {
			if json.Unmarshal(members[name], &code) == nil {
				return code
			}
		}
		return exitCode(members["metadata"], depth-1)
	}
	return code
}

func null(raw json.RawMessage) bool { return string(raw) == "null" }
