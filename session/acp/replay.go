package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// Known is the history of the agent session to load, from the log.
type Known struct {
	// Prompts are the prompts that this agent session got, in order.
	Prompts []KnownPrompt
	// ToolCalls are the ids of its tool calls, each once.
	ToolCalls []string
}

// KnownPrompt is a prompt the log holds.
type KnownPrompt struct {
	Text string
	// Wrapped means that the agent got more than this text: a summary of earlier
	// turns, attachments, the rest of a text that is too long for the log. Its
	// replay may contain all that.
	Wrapped bool
	// Cut means that its turn was cancelled or interrupted. Some agents replay that
	// like a message of the user.
	Cut bool
	// Answer is the agent's text in its turn, of a long one the beginning.
	Answer []byte
}

// reminder begins what Kimi adds to a prompt for its model.
const reminder = "<system-reminder>"

// is reports whether a replayed prompt is this one. Agents trim prompts, so
// surrounding spaces do not count. Kimi adds a reminder for its model.
func (p KnownPrompt) is(remembered string) bool {
	text := strings.TrimSpace(p.Text)
	if said, _, added := strings.Cut(remembered, reminder); added && !strings.Contains(text, reminder) {
		remembered = said
	}
	remembered = strings.TrimSpace(remembered)
	switch {
	case p.Wrapped:
		return strings.Contains(remembered, text)
	case p.Cut:
		return strings.HasPrefix(remembered, text)
	}
	return remembered == text
}

// replay takes the history that an agent repeats while it loads a session. The log
// already has that history: it is not recorded again, but differences are noted.
type replay struct {
	prompts [][]string // each in the chunks of one message
	open    bool       // the last update was a user chunk
	message string     // and its message id, if it had one
	tools   []string
	seen    map[string]bool // tools, as a set
	chunks  int
}

// The kinds of updates of a history.
const (
	userChunk      = "user_message_chunk"
	messageChunk   = "agent_message_chunk"
	toolCall       = "tool_call"
	toolCallUpdate = "tool_call_update"
)

// historyUpdate is an update as a history has them.
type historyUpdate struct {
	Kind       string          `json:"sessionUpdate"`
	ToolCallID string          `json:"toolCallId"`
	MessageID  string          `json:"messageId"`
	Content    json.RawMessage `json:"content"`
}

// past reports whether a history has such updates. It has none of the present state:
// commands, modes, options, usage, titles.
func (u historyUpdate) past() bool {
	switch u.Kind {
	case userChunk, messageChunk, "agent_thought_chunk", toolCall, toolCallUpdate, "plan":
		return true
	}
	return false
}

// take takes an update that is history.
func (r *replay) take(u historyUpdate) {
	r.chunks++
	switch u.Kind {
	case userChunk:
		text := blockText(u.Content)
		if last := len(r.prompts) - 1; r.open && r.message == u.MessageID {
			r.prompts[last] = append(r.prompts[last], text)
		} else {
			r.prompts = append(r.prompts, []string{text})
		}
		r.open, r.message = true, u.MessageID
		return
	case toolCall, toolCallUpdate:
		if !r.seen[u.ToolCallID] {
			if r.seen == nil {
				r.seen = map[string]bool{}
			}
			r.seen[u.ToolCallID] = true
			r.tools = append(r.tools, u.ToolCallID)
		}
	}
	r.open = false
}

func isText(content json.RawMessage) bool {
	var block struct {
		Text *string `json:"text"`
	}
	return json.Unmarshal(content, &block) == nil && block.Text != nil
}

func blockText(content json.RawMessage) string {
	var block struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &block) // other content has none
	return block.Text
}

// begins reports whether an update before the first prompt is history although its
// session has begun: a prompt, which only a person sends, or anything behind one.
func (r *replay) begins(u historyUpdate) bool { return u.Kind == userChunk || r.chunks > 0 }

// echoes reports whether a text repeats a part of the prompt of the open turn, which is
// spaced.
func echoes(text, prompt string) bool {
	text, _, _ = strings.Cut(text, reminder)
	return strings.Contains(prompt, spaced(text))
}

// spaced makes one space of all between two words: agents trim prompts and change their line ends.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// verdict compares the replay with the log. Without a difference there is no event.
func (r *replay) verdict(known *Known) []event.Payload {
	if known == nil {
		return nil
	}
	extraPrompts, missing := known.compare(r.prompts)
	extraTools := without(r.tools, known.ToolCalls)
	if len(r.tools) <= len(known.ToolCalls) {
		extraTools = []string{} // the agent calls them by other ids than in their turns (Kimi)
	}
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
	return []event.Payload{event.Note{
		Method: "abide/replay",
		Text:   event.Text(strings.Join(said, " ")),
		Raw: mustJSON(map[string]any{
			"extra_prompts": extraPrompts, "extra_tool_calls": extraTools, "missing_prompts": missing, "updates": r.chunks,
		}),
	}}
}

// compare returns the prompts that only the agent has, and those that only the log
// has. Each prompt matches one, even if the same was asked several times.
func (k *Known) compare(messages [][]string) (extra, missing []string) {
	var remembered []string
	for _, chunks := range messages {
		remembered = append(remembered, k.divide(chunks)...)
	}
	extra, missing = []string{}, []string{}
	found := make([]bool, len(k.Prompts))
	next := 0    // all before it are matched
	cut := false // the previous prompt was cut off, so this may be the agent's message about it
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

// divide returns the prompts in a message. Without message ids, prompts that follow
// each other look like one message in chunks: it is several if the log has each of
// them, and not all together.
func (k *Known) divide(chunks []string) []string {
	whole := []string{strings.Join(chunks, "")}
	if len(chunks) == 1 || k.has(whole[0]) {
		return whole
	}
	var prompts []string
	text := ""
	for _, chunk := range chunks {
		if text += chunk; k.has(text) {
			prompts, text = append(prompts, text), ""
		}
	}
	if strings.TrimSpace(text) != "" {
		return whole
	}
	return prompts
}

func (k *Known) hasTool(id string) bool { return slices.Contains(k.ToolCalls, id) }

func (k *Known) has(text string) bool {
	return slices.ContainsFunc(k.Prompts, func(p KnownPrompt) bool { return p.is(text) })
}

// without returns the elements of list that are not in other.
func without(list, other []string) []string {
	known := map[string]bool{}
	for _, s := range other {
		known[s] = true
	}
	return slices.DeleteFunc(append([]string{}, list...), func(s string) bool { return known[s] })
}

// pastPrompt converts a chunk of a prompt that an agent repeats. Pictures and other
// contents without a text are named in brackets.
func pastPrompt(update json.RawMessage) (event.UserPrompt, bool) {
	var u struct {
		Kind      string `json:"sessionUpdate"`
		MessageID string `json:"messageId"`
		Content   struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			URI      string `json:"uri"`
			Resource struct {
				URI string `json:"uri"`
			} `json:"resource"`
		} `json:"content"`
	}
	if json.Unmarshal(update, &u) != nil || u.Kind != "user_message_chunk" {
		return event.UserPrompt{}, false
	}
	text := u.Content.Text
	switch u.Content.Type {
	case "text":
		text, _, _ = strings.Cut(text, reminder)
	case "resource_link":
		text = "[" + u.Content.URI + "]"
	case "resource":
		text = "[" + u.Content.Resource.URI + "]"
	default:
		text = "[" + u.Content.Type + "]"
	}
	return event.UserPrompt{PromptID: u.MessageID, Text: event.Text(text)}, true
}
