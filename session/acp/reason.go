package acp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	// longestReason limits the text of an error, in bytes.
	longestReason = 4000
	// deepestReason limits how deep a reason lies in an error's data.
	deepestReason = 6
	// mostUnwrapped limits how often JSON is looked for in a text, and mostRead how much
	// of a text is read for it, in bytes.
	mostUnwrapped = 32
	mostRead      = 64 << 10
)

// longestError limits an error in the log, in bytes.
const longestError = 64 << 10

// readError reads an agent's error: its code, and its text for a person. One that is not
// of the protocol's form is told in its own words.
func readError(raw json.RawMessage) (code int, text string) {
	var e struct {
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	var message string
	switch {
	case json.Unmarshal(raw, &e) != nil:
		message = inWords(raw)
	case isNull(e.Message), json.Unmarshal(e.Message, &message) == nil:
	default:
		message = inWords(e.Message)
	}
	_ = json.Unmarshal(e.Code, &code) // another has none
	text = errorText(message, e.Data)
	if len(raw) > longestError {
		text += fmt.Sprintf(" (its error has %d bytes)", len(raw))
	}
	return code, text
}

// inWords is a value that should be a text: the reason in it, or the value itself.
func inWords(value json.RawMessage) string {
	if reason := reasonIn(value, deepestReason); reason != "" {
		return reason
	}
	return string(value)
}

// bounded is an error as it is kept in the log: one that is too long is replaced by its
// size, as its text has its beginning.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) <= longestError {
		return raw
	}
	return mustJSON(map[string]int{"left_out_bytes": len(raw)})
}

// errorText returns an agent's error for a person: its message, and the reason in
// its data where the message lacks it. Agents put the reason there and say
// "Internal error" before it. JSON in a message is replaced by the message in it.
func errorText(message string, data json.RawMessage) string {
	message = unwrapped(head(strings.TrimSpace(message)), deepestReason)
	reason := strings.TrimSpace(reasonIn(data, deepestReason))
	switch {
	case message == "" && reason == "":
		return "an error without a message"
	case message == "":
		message = reason
	case reason != "" && !strings.Contains(message, reason):
		if strings.Contains(reason, message) {
			message = reason
		} else {
			message = strings.TrimRight(message, ".: ") + ": " + reason
		}
	}
	return shortened(message)
}

func head(text string) string { return text[:min(len(text), mostRead)] }

func shortened(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + " …"
}

// reasonIn returns the reason in an error's data: a string, the field of an object that
// agents use for it, or those of a list; empty if there is none.
func reasonIn(data json.RawMessage, depth int) string {
	if depth == 0 || isNull(data) {
		return ""
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return unwrapped(head(text), depth-1)
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		var reasons []string
		for _, one := range list[:min(len(list), mostUnwrapped)] {
			if reason := reasonIn(one, depth-1); reason != "" && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
		return strings.Join(reasons, "; ")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return ""
	}
	for _, name := range []string{"message", "details", "detail", "reason", "error", "errors", "data", "cause"} {
		if reason := reasonIn(object[name], depth-1); reason != "" {
			return reason
		}
	}
	return ""
}

// unwrapped replaces objects of JSON in a text, and lists of such, by the reasons in them.
func unwrapped(text string, depth int) string {
	if depth <= 0 {
		return text
	}
	var out strings.Builder
	for range mostUnwrapped {
		at := jsonIn.FindStringIndex(text)
		if at == nil {
			break
		}
		value, reason := json.RawMessage{}, ""
		if json.NewDecoder(strings.NewReader(text[at[0]:])).Decode(&value) == nil {
			reason = reasonIn(value, depth-1)
		}
		end := at[0] + max(1, len(value))
		if reason == "" {
			reason = text[at[0]:end]
		}
		out.WriteString(text[:at[0]] + reason)
		text = text[end:]
	}
	return strings.TrimSpace(out.String() + text)
}

// jsonIn matches where an object of JSON, or a list of such, may begin.
var jsonIn = regexp.MustCompile(`\[\s*\{|\{`)
