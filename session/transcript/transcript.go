// Package transcript folds events into text for a person.
//
// A Transcript is a pure function of the events applied to it: chunks of one
// message are joined, a tool call and its updates become one entry, a permission
// request carries its outcome. Export, the terminal UI and snapshots are made from
// it; it never changes the log and can always be made again.
package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// ErrGap reports an event that is not the next one.
var ErrGap = errors.New("event out of order")

// Transcript is a session as of LastSeq. The zero value is a session before
// its first event. One goroutine uses it.
type Transcript struct {
	Start   event.SessionStart `json:"start"`
	Title   string             `json:"title,omitempty"`
	LastSeq event.Seq          `json:"last_seq"`
	Turns   []*Turn            `json:"turns"`

	messages    map[string]*Entry
	tools       map[string]*Entry
	permissions map[string]*Entry
}

// Turn is one prompt and everything the agent did about it. Turn 0 has the events
// before the first prompt.
type Turn struct {
	Number int               `json:"number"`
	Prompt *event.UserPrompt `json:"prompt,omitempty"`
	// Entries are in the order in which each first appeared.
	Entries []*Entry `json:"entries"`
	// Interrupted is set when the turn was cut off.
	Interrupted *event.TurnInterrupted `json:"interrupted,omitempty"`
	End         *event.TurnEnd         `json:"end,omitempty"`
}

// Silent reports whether the agent ended the turn without a message, a call or a plan.
func (t *Turn) Silent() bool {
	return t.Prompt != nil && t.End != nil && t.End.StopReason == event.StopEndTurn &&
		!slices.ContainsFunc(t.Entries, func(e *Entry) bool {
			return e.Kind == Tool || e.Kind == Plan || e.Kind == Message && (strings.TrimSpace(e.Text) != "" || len(e.Blocks) > 0)
		})
}

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	Message    Kind = "message"
	Thought    Kind = "thought"
	Tool       Kind = "tool"
	Permission Kind = "permission"
	Plan       Kind = "plan"
	Problem    Kind = "problem" // an error, an agent's exit, an unreadable event
	Other      Kind = "other"   // kept and shown, not understood
)

// Entry is one thing to read. The field named after its Kind is set.
type Entry struct {
	Kind Kind      `json:"kind"`
	Seq  event.Seq `json:"seq"` // of the first event folded into it
	At   time.Time `json:"at"`
	// Text is a message's or thought's whole text, or problem in words.
	Text string `json:"text,omitempty"`
	// Blocks are content blocks that are not text, in the agent's own JSON.
	Blocks     []json.RawMessage        `json:"blocks,omitempty"`
	Tool       *event.ToolCallFields    `json:"tool,omitempty"`
	Permission *event.PermissionRequest `json:"permission,omitempty"`
	Outcome    *event.PermissionOutcome `json:"outcome,omitempty"`
	Plan       []event.PlanEntry        `json:"plan,omitempty"`
	Other      *event.Event             `json:"other,omitempty"`
}

// Apply folds the next event in. An event that is already covered changes
// nothing; one that leaves a hole is ErrGap. Data that cannot be decoded
// becomes an entry of kind Other: reading a transcript never fails on content.
func (t *Transcript) Apply(e event.Event) error {
	first := e.Seq
	if e.FirstSeq != 0 {
		first = e.FirstSeq
	}
	if e.Seq <= t.LastSeq {
		return nil
	}
	if first > t.LastSeq+1 {
		return fmt.Errorf("%w: %d after %d", ErrGap, first, t.LastSeq)
	}
	t.LastSeq = e.Seq
	payload, err := e.Payload()
	if err != nil {
		t.add(e, &Entry{Kind: Other, Other: &e})
		return nil
	}
	t.apply(e, payload)
	return nil
}

func (t *Transcript) apply(e event.Event, payload event.Payload) {
	switch p := payload.(type) {
	case event.SessionStart:
		t.Start = p
	case event.Title:
		t.Title = p.Title
	case event.UserPrompt:
		t.turn(e.Turn).Prompt = &p
	case event.TurnEnd:
		t.turn(e.Turn).End = &p
	case event.AgentMessage:
		t.chunk(e, Message, p.MessageID, p.Text, p.Content)
	case event.AgentThought:
		t.chunk(e, Thought, p.MessageID, p.Text, p.Content)
	case event.ToolCall:
		t.tool(e, p.ToolCallFields)
	case event.ToolCallUpdate:
		t.tool(e, p.ToolCallFields)
	case event.Plan:
		t.plan(e, p)
	case event.PermissionRequest:
		entry := &Entry{Kind: Permission, Permission: &p}
		t.add(e, entry)
		keep(&t.permissions, p.PermissionID, entry)
	case event.PermissionOutcome:
		if entry := t.permissions[p.PermissionID]; entry != nil && entry.Outcome == nil {
			entry.Outcome = &p
		}
	case event.Error:
		t.add(e, &Entry{Kind: Problem, Text: p.Message})
	case event.AgentExit:
		t.add(e, &Entry{Kind: Problem, Text: "the agent ended: " + p.Cause()})
	case event.Corrupt:
		t.add(e, &Entry{Kind: Problem, Text: "an event could not be read: " + p.Reason})
	case event.TurnInterrupted:
		t.turn(e.Turn).Interrupted = &p
	case event.InterruptionSettled, event.SessionPaused, event.SessionResumed, event.SessionResumable, event.WorkspaceSeen, event.TurnStart, event.AgentStarted, event.Mode, event.Config, event.Commands, event.Usage, event.SegmentStart:
		// state, which a transcript does not tell
	case event.Note:
		if !p.Background() {
			t.add(e, &Entry{Kind: Other, Other: &e})
		}
	default:
		t.add(e, &Entry{Kind: Other, Other: &e})
	}
}

// turn returns the turn with that number, in order of first appearance.
func (t *Transcript) turn(number int) *Turn {
	for i := len(t.Turns) - 1; i >= 0; i-- {
		if t.Turns[i].Number == number {
			return t.Turns[i]
		}
	}
	turn := &Turn{Number: number}
	t.Turns = append(t.Turns, turn)
	return turn
}

func (t *Transcript) add(e event.Event, entry *Entry) {
	entry.Seq, entry.At = e.Seq, e.Time
	if e.FirstSeq != 0 {
		entry.Seq = e.FirstSeq
	}
	turn := t.turn(e.Turn)
	turn.Entries = append(turn.Entries, entry)
}

func (t *Transcript) chunk(e event.Event, kind Kind, id string, text event.Text, block json.RawMessage) {
	key := fmt.Sprintf("%s %d %s", kind, e.Turn, id) // ids are the agent's, and may come again
	entry := t.messages[key]
	if entry == nil {
		entry = &Entry{Kind: kind}
		t.add(e, entry)
		keep(&t.messages, key, entry)
	}
	entry.Text += string(text)
	if len(block) > 0 {
		entry.Blocks = append(entry.Blocks, block)
	}
}

// tool is an upsert: agents send updates for calls they never announced. Turn
// and id together name a call: an agent's ids may come again in a later turn.
func (t *Transcript) tool(e event.Event, update event.ToolCallFields) {
	key := fmt.Sprintf("%d %s", e.Turn, update.ToolCallID)
	entry := t.tools[key]
	if entry == nil {
		entry = &Entry{Kind: Tool, Tool: &event.ToolCallFields{ToolCallID: update.ToolCallID}}
		t.add(e, entry)
		keep(&t.tools, key, entry)
	}
	entry.Tool.Upsert(update)
}

// plan replaces the plan of its turn, or begins one.
func (t *Transcript) plan(e event.Event, p event.Plan) {
	for _, entry := range t.turn(e.Turn).Entries {
		if entry.Kind == Plan {
			entry.Plan = p.Entries
			return
		}
	}
	t.add(e, &Entry{Kind: Plan, Plan: p.Entries})
}

// keep puts a value into a map that may not be made yet.
func keep[V any](index *map[string]V, id string, value V) {
	if *index == nil {
		*index = map[string]V{}
	}
	(*index)[id] = value
}
