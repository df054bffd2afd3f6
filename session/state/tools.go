package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// rememberedTools is how many finished tool calls are kept, so that a late update
// gets the turn of its call.
const rememberedTools = 1024

// ToolCalls holds the turn and the facts of each tool call, and the unfinished
// calls. It takes tool calls, their updates and permission requests, because agents
// begin with any of the three. The zero value is empty.
type ToolCalls struct {
	// Calls are the known calls by id. Finished ones are forgotten after a while.
	Calls map[string]*ToolCall `json:"calls,omitempty"`
	// Seen counts all calls so far.
	Seen int `json:"seen,omitempty"`
	// Finished holds ids in the order in which they ended. A call that ended twice
	// is in it twice and is removed with the first.
	Finished []string `json:"finished,omitempty"`
	// Delegating are the titles of calls that run sub-agents, as configured.
	Delegating []string `json:"-"`
}

// ToolCall is a tool call of the agent. Turn and ID identify it.
type ToolCall struct {
	ID   string `json:"id"`
	Turn int    `json:"turn,omitempty"`
	Done bool   `json:"done,omitempty"`
	// Order counts the calls of a session as they begin.
	Order int     `json:"order"`
	About Subject `json:"about,omitzero"`
	// ChangedAt is the seq of the last event that changed About.
	ChangedAt event.Seq `json:"changed_at,omitempty"`
	// Delegates means that the call runs a sub-agent: other calls name it as their
	// parent, or it had a configured title.
	Delegates bool `json:"delegates,omitempty"`
}

// turnOf returns the turn of an agent's event: that of its tool call, or else the
// latest turn, which may be open. An agent may reuse an id in another turn, so turn
// and id together identify a tool call.
func (t *ToolCalls) turnOf(p event.Payload, latest int, open bool) int {
	id := ToolCallID(p)
	if _, announced := p.(event.ToolCall); announced && open && t.again(id, latest) {
		return latest
	}
	if turn, known := t.turn(id); known {
		return turn
	}
	return latest
}

// turn returns the turn of a known call.
func (t *ToolCalls) turn(id string) (int, bool) {
	if call, known := t.Calls[id]; known {
		return call.Turn, true
	}
	return 0, false
}

// again reports whether an announced call reuses the id of a call that ended in an
// earlier turn. Some agents restart their ids with each prompt.
func (t *ToolCalls) again(id string, turn int) bool {
	call, known := t.Calls[id]
	return known && call.Done && call.Turn < turn
}

// said returns the known facts of a call.
func (t *ToolCalls) said(id string) Subject {
	if call, known := t.Calls[id]; known {
		return call.About
	}
	return Subject{}
}

// ChangedAt returns the seq of the last event that changed the facts of a call; 0
// for an unknown call.
func (t *ToolCalls) ChangedAt(id string) event.Seq {
	if call, known := t.Calls[id]; known {
		return call.ChangedAt
	}
	return 0
}

// see records the facts of a call from the event seq. An empty status does not
// change a known call; a new call then counts as begun.
func (t *ToolCalls) see(seq event.Seq, turn int, said event.ToolCallFields) {
	id, status := said.ToolCallID, said.Status
	if parent := t.Calls[parentOf(said.Raw)]; parent != nil {
		parent.Delegates = true
	}
	if id == "" {
		return
	}
	call, known := t.Calls[id]
	if !known || t.again(id, turn) {
		if t.Calls == nil {
			t.Calls = map[string]*ToolCall{}
		}
		t.Seen++
		call = &ToolCall{ID: id, Turn: turn, Order: t.Seen}
		t.Calls[id] = call
	}
	if slices.ContainsFunc(t.Delegating, func(title string) bool { return strings.EqualFold(title, said.Title) }) {
		call.Delegates = true
	}
	if about := call.About.upsert(said); !about.equal(call.About) {
		call.About, call.ChangedAt = about, seq
	}
	if status == "" || status.Done() == call.Done {
		return
	}
	call.Done = status.Done()
	if call.Done {
		t.Finished = append(t.Finished, id)
		t.forget()
	}
}

// Unfinished lists the unfinished calls in the order in which they began.
func (t *ToolCalls) Unfinished() []ToolCall {
	var open []ToolCall
	for _, call := range t.Calls {
		if !call.Done {
			open = append(open, *call)
		}
	}
	slices.SortFunc(open, func(a, b ToolCall) int { return cmp.Compare(a.Order, b.Order) })
	return open
}

func (t *ToolCalls) forget() {
	for len(t.Finished) > rememberedTools {
		if call := t.Calls[t.Finished[0]]; call != nil && call.Done {
			delete(t.Calls, call.ID)
		}
		t.Finished = t.Finished[1:]
	}
}

// parentOf returns the tool call that `_meta` names as the parent; empty if none.
func parentOf(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(`"parentTool`)) { // most calls have no parent
		return ""
	}
	var whole struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &whole) != nil {
		return ""
	}
	parent := func(fields map[string]json.RawMessage) (id string) {
		for _, name := range []string{"parentToolUseId", "parentToolCallId"} {
			if json.Unmarshal(fields[name], &id) == nil && id != "" {
				return id
			}
		}
		return ""
	}
	if id := parent(whole.Meta); id != "" {
		return id
	}
	for _, value := range whole.Meta { // agents nest it under their own name
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) == nil {
			if id := parent(inner); id != "" {
				return id
			}
		}
	}
	return ""
}

// ToolCallID returns the tool call that a payload is about; empty if none.
func ToolCallID(p event.Payload) string {
	switch p := p.(type) {
	case event.ToolCall:
		return p.ToolCallID
	case event.ToolCallUpdate:
		return p.ToolCallID
	case event.TerminalOutput:
		return p.ToolCallID
	case event.PermissionRequest:
		return p.ToolCallID
	}
	return ""
}
