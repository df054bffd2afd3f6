package transcript

import (
	"encoding/json"
	"strings"

	"github.com/abidehub/abide/session/event"
)

const (
	// accountPrompts, accountLine and accountBytes bound Account.Text.
	accountPrompts = 20
	accountLine    = 200 // runes of a prompt
	accountBytes   = 4 << 10
	// accountAnswer bounds AccountPrompt.Answer.
	accountAnswer = 64 << 10
)

// NoteForked is the method of the note that a fork begins with: the account of the
// session it goes on from.
const NoteForked = "abide/forked"

// Account is the part of a session that matters to an agent process that comes
// back to it: the prompts and tool calls that its agent session was given, and
// a short text for an agent that does not remember them. Without Answers it holds no
// message text, so a long log costs little memory. The zero value is a session before
// its first event. One goroutine uses it.
type Account struct {
	// Answers says that Prompts get their answers. It is set before the first event.
	Answers bool
	// Prompts are the prompts that the current agent session was given, in order.
	Prompts []AccountPrompt
	// ToolCalls are the ids of its tool calls, each once.
	ToolCalls []string

	asked  []asked // all prompts that any agent session was given, but for those undone
	unsaid Unsaid[asked]
	forked string // the account of the session that this one goes on from

	waiting map[string]waiting // prompts that no agent was given yet, by id
	turns   map[string]int     // index into Prompts, by prompt id
	tools   map[string]bool    // the set of ToolCalls
	anew    bool               // the next prompt follows an account
}

// asked is a prompt, and the seq of its event.
type asked struct {
	text string
	seq  event.Seq
}

// AccountPrompt is a prompt that an agent was given.
type AccountPrompt struct {
	Text string
	// Wrapped says that the agent was given more than Text: an account of earlier
	// turns, attachments, or the rest of a text that is too long for the log.
	Wrapped bool
	// Cut says that the turn was cancelled or interrupted.
	Cut bool
	// Answer is the agent's text in its turn, at most 64 KiB of it.
	Answer []byte
}

// waiting is a prompt that no agent was given yet, and the seq of its event.
type waiting struct {
	AccountPrompt
	seq event.Seq
}

// Apply folds the next event in. Events that cannot be decoded are skipped.
func (a *Account) Apply(e event.Event) {
	switch e.Type {
	case event.TypeUserPrompt, event.TypeAgentStarted, event.TypeTurnStart, event.TypeTurnEnd, event.TypeToolCall, event.TypeToolCallUpdate, event.TypeNote:
	case event.TypeAgentMessage:
		if !a.Answers {
			return
		}
	default:
		return // the bulk of a log need not be decoded
	}
	payload, err := e.Payload()
	if err != nil {
		return
	}
	switch p := payload.(type) {
	case event.UserPrompt:
		keep(&a.waiting, p.PromptID, waiting{AccountPrompt{Text: string(p.Text), Wrapped: len(p.Attachments) > 0 || Shortened(e)}, e.Seq})
	case event.AgentStarted:
		if p.Resumed == "" { // the agent does not remember earlier turns
			a.Prompts, a.ToolCalls, a.turns, a.tools = nil, nil, nil, nil
			a.anew = p.ContextLost
		}
	case event.TurnStart:
		a.given(p.PromptID)
	case event.TurnEnd:
		if at, ok := a.turns[p.PromptID]; ok && p.StopReason != event.StopEndTurn {
			a.Prompts[at].Cut = true
		}
	case event.Note:
		switch {
		case p.Statement() == NoteForked && a.forked == "":
			a.forked = string(p.Text)
		case p.Statement() == NoteSegment:
			a.segment(p.Raw)
		case p.Statement() == NoteUndo:
			if u := UndoOf(p); u != nil {
				a.asked = a.unsaid.Apply(*u, a.asked, func(q asked) event.Seq { return q.seq })
			}
		}
	case event.AgentMessage:
		if last := len(a.Prompts) - 1; last >= 0 {
			answer := append(a.Prompts[last].Answer, p.Text...)
			a.Prompts[last].Answer = answer[:min(len(answer), accountAnswer)]
		}
	case event.ToolCall:
		a.tool(p.ToolCallID)
	case event.ToolCallUpdate:
		a.tool(p.ToolCallID)
	}
}

// given notes that the agent got a prompt. A prompt that still waits is not part
// of the account.
func (a *Account) given(promptID string) {
	prompt, ok := a.waiting[promptID]
	if !ok {
		return
	}
	delete(a.waiting, promptID)
	keep(&a.turns, promptID, len(a.Prompts))
	prompt.Wrapped = prompt.Wrapped || a.anew
	a.Prompts = append(a.Prompts, prompt.AccountPrompt)
	a.asked = append(a.asked, asked{prompt.Text, prompt.seq})
	a.unsaid.Settle()
	a.anew = false
}

// segment notes that the agent session was given a segment of a restore, by its first
// line. It was interrupted at once.
func (a *Account) segment(raw json.RawMessage) {
	var given struct {
		Text event.Text `json:"text"`
	}
	if json.Unmarshal(raw, &given) != nil || given.Text == "" {
		return // the agent's answer to one
	}
	line, _, _ := strings.Cut(string(given.Text), "\n")
	a.Prompts = append(a.Prompts, AccountPrompt{Text: line, Wrapped: true, Cut: true})
}

func (a *Account) tool(id string) {
	if !a.tools[id] {
		keep(&a.tools, id, true)
		a.ToolCalls = append(a.ToolCalls, id)
	}
}

// Text tells an agent without memory the earlier prompts in a few lines. It is
// empty when nothing was.
func (a *Account) Text() string {
	if len(a.asked) == 0 {
		return a.forked
	}
	var text strings.Builder
	text.WriteString(a.forked)
	text.WriteString("You are continuing a session whose earlier turns you do not remember. What was asked in them, oldest first:\n")
	for _, prompt := range a.asked[max(0, len(a.asked)-accountPrompts):] {
		line, _, _ := strings.Cut(strings.TrimSpace(prompt.text), "\n")
		if runes := []rune(line); len(runes) > accountLine {
			line = string(runes[:accountLine]) + "…"
		}
		if text.Len()-len(a.forked)+len(line) > accountBytes {
			break
		}
		text.WriteString("- " + line + "\n")
	}
	return text.String()
}

// Shortened reports whether the log holds only the beginning of a prompt's text.
func Shortened(e event.Event) bool {
	var data struct {
		Text json.RawMessage `json:"text"`
	}
	return json.Unmarshal(e.Data, &data) == nil && len(data.Text) > 0 && data.Text[0] == '{'
}
