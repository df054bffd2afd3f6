package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Known is what the log holds of a session that an agent is to load.
type Known struct {
	// Prompts are the texts of the prompts, in order.
	Prompts []string
	// ToolCalls are the ids of the tool calls.
	ToolCalls []string
}

// replay takes the history an agent repeats while it loads a session. The log
// has that history already: nothing of it is recorded again, but what the log
// does not know is told.
type replay struct {
	prompts []string
	open    bool // the last thing said was a user chunk
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
		if r.open {
			r.prompts[len(r.prompts)-1] += block.Text
		} else {
			r.prompts = append(r.prompts, block.Text)
		}
		r.open = true
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
	extraPrompts := beyond(r.prompts, known.Prompts)
	extraTools := beyond(r.tools, known.ToolCalls)
	missing := beyond(known.Prompts, r.prompts)
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

// beyond returns what list has more than other, each as often as it has it
// more. Agents trim prompts; spaces do not count.
func beyond(list, other []string) []string {
	count := map[string]int{}
	for _, s := range other {
		count[strings.TrimSpace(s)]++
	}
	out := []string{}
	for _, s := range list {
		if key := strings.TrimSpace(s); count[key] > 0 {
			count[key]--
		} else {
			out = append(out, s)
		}
	}
	return out
}
