package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Known is the log's history of the agent session to load.
type Known struct {
	// Prompts are the prompts this agent session was given, in order.
	Prompts []KnownPrompt
	// ToolCalls are the ids of its tool calls, each once.
	ToolCalls []string
}

// KnownPrompt is a prompt the log holds.
type KnownPrompt struct {
	Text string
	// Wrapped says that the agent was given more than this: an account of
	// earlier turns, attachments, the rest of a text that is too long for the
	// log. It may repeat all that, in words of its own.
	Wrapped bool
	// Cut says that its turn was cancelled or interrupted. Some agents remember
	// that as if a person had said so.
	Cut bool
}

// is reports whether an agent's memory of a prompt is this one. Agents trim
// prompts: spaces around them do not count.
func (p KnownPrompt) is(remembered string) bool {
	text := strings.TrimSpace(p.Text)
	remembered = strings.TrimSpace(remembered)
	switch {
	case p.Wrapped:
		return strings.Contains(remembered, text)
	case p.Cut:
		return strings.HasPrefix(remembered, text)
	}
	return remembered == text
}

// replay takes the history an agent repeats while it loads a session. The log has
// that history already: nothing of it is recorded again, but differences from it
// are noted.
type replay struct {
	prompts []string
	open    bool   // the last thing said was a user chunk
	message string // and its message id, if it had one
	tools   []string
	seen    map[string]bool // tools, as a set
	chunks  int
}

// take takes an update that is history, and leaves those that say how things
// are now: commands, modes, options, usage, titles.
func (r *replay) take(update json.RawMessage) bool {
	var u struct {
		Kind       string          `json:"sessionUpdate"`
		ToolCallID string          `json:"toolCallId"`
		MessageID  string          `json:"messageId"`
		Content    json.RawMessage `json:"content"`
	}
	if json.Unmarshal(update, &u) != nil {
		return false
	}
	switch u.Kind {
	case "user_message_chunk":
		var block struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(u.Content, &block)
		if r.open && r.message == u.MessageID {
			r.prompts[len(r.prompts)-1] += block.Text
		} else {
			r.prompts = append(r.prompts, block.Text)
		}
		r.open, r.message = true, u.MessageID
		r.chunks++
		return true
	case "tool_call", "tool_call_update":
		if !r.seen[u.ToolCallID] {
			if r.seen == nil {
				r.seen = map[string]bool{}
			}
			r.seen[u.ToolCallID] = true
			r.tools = append(r.tools, u.ToolCallID)
		}
	case "agent_message_chunk", "agent_thought_chunk", "plan":
	default:
		return false
	}
	r.open = false
	r.chunks++
	return true
}

// verdict compares the replay with the log. No difference is no event.
func (r *replay) verdict(known *Known) []event.Payload {
	if known == nil {
		return nil
	}
	extraPrompts, missing := known.compare(r.prompts)
	extraTools := without(r.tools, known.ToolCalls)
	if len(extraPrompts)+len(extraTools)+len(missing) == 0 {
		return nil
	}
	var said []string
	if n := len(extraPrompts) + len(extraTools); n > 0 {
		said = append(said, fmt.Sprintf("The agent remembers %d prompts and %d tool calls that are not in this session.", len(extraPrompts), len(extraTools)))
	}
	if len(missing) > 0 {
		said = append(said, fmt.Sprintf("It does not remember %d of this session's prompts.", len(missing)))
	}
	return one(event.Note{
		Method: "abide/replay",
		Text:   event.Text(strings.Join(said, " ")),
		Raw: mustJSON(map[string]any{
			"extra_prompts": extraPrompts, "extra_tool_calls": extraTools, "missing_prompts": missing, "updates": r.chunks,
		}),
	})
}

// compare returns the prompts that only the agent remembers, and those that only
// the log does. One prompt stands for one, however often the same was asked.
func (k *Known) compare(remembered []string) (extra, missing []string) {
	extra, missing = []string{}, []string{}
	found := make([]bool, len(k.Prompts))
	next := 0    // all before it are found
	cut := false // the prompt before was, so this may be the agent's word on it
	for _, text := range remembered {
		at := next
		for at < len(found) && (found[at] || !k.Prompts[at].is(text)) {
			at++
		}
		switch {
		case at < len(found):
			found[at], cut = true, k.Prompts[at].Cut
		case cut:
			cut = false
		default:
			extra = append(extra, text)
		}
		for next < len(found) && found[next] {
			next++
		}
	}
	for i, p := range k.Prompts {
		if !found[i] {
			missing = append(missing, p.Text)
		}
	}
	return extra, missing
}

// without returns the elements of list that are not in other.
func without(list, other []string) []string {
	known := map[string]bool{}
	for _, s := range other {
		known[s] = true
	}
	return slices.DeleteFunc(append([]string{}, list...), func(s string) bool { return known[s] })
}
