package acp

import (
	"encoding/json"
	"strings"
)

const (
	// longestReason limits the text of an error, in bytes.
	longestReason = 4000
	// deepestReason limits how deep a reason lies in an error's data.
	deepestReason = 6
)

// errorText returns an agent's error for a person: its message, and the reason in
// its data where the message lacks it. Agents put the reason there and say
// "Internal error" before it. JSON in a message is replaced by the message in it.
func errorText(message string, data json.RawMessage) string {
	message = unwrapped(strings.TrimSpace(message), deepestReason)
	reason := strings.TrimSpace(reasonIn(data, deepestReason))
	switch {
	case message == "" && reason == "":
		return "an error of unknown form"
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

func shortened(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + " …"
}

// reasonIn returns the reason in an error's data: a string, or the field of an
// object that agents use for it; empty if there is none.
func reasonIn(data json.RawMessage, depth int) string {
	if depth == 0 || isNull(data) {
		return ""
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return unwrapped(text, depth-1)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return ""
	}
	for _, name := range []string{"message", "details", "detail", "reason", "error", "data", "cause"} {
		if reason := reasonIn(object[name], depth-1); reason != "" {
			return reason
		}
	}
	return ""
}

// unwrapped replaces an object of JSON at the end of a text by the reason in it.
func unwrapped(text string, depth int) string {
	at := strings.IndexByte(text, '{')
	if at < 0 || depth <= 0 {
		return text
	}
	object := json.RawMessage(strings.TrimSpace(text[at:]))
	if !json.Valid(object) {
		return text
	}
	reason := reasonIn(object, depth-1)
	if reason == "" {
		return text
	}
	return strings.TrimSpace(text[:at] + reason)
}
