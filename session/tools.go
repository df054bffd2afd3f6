package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// rememberedTools is how many finished tool calls are kept, so that a late update
// gets the turn of its call.
const rememberedTools = 1024

// toolCalls holds the turn and the facts of each tool call, and the unfinished
// calls. It takes tool calls, their updates and permission requests, because agents
// begin with any of the three. The zero value is empty.
type toolCalls struct {
	calls map[string]*toolCall
	seen  int
	// finished holds ids in the order in which they ended. A call that ended twice
	// is in it twice and is removed with the first.
	finished []string
	// delegating are the titles of calls that run sub-agents, as configured.
	delegating []string
}

type toolCall struct {
	id    string
	turn  int
	done  bool
	order int
	about subject
	// changedAt is the seq of the last event that changed about.
	changedAt event.Seq
	// delegates means that the call runs a sub-agent: other calls name it as their
	// parent, or it had a configured title.
	delegates bool
}

// turnOf returns the turn of an agent's event: that of its tool call, or else the
// latest turn, which may be open. An agent may reuse an id in another turn, so turn
// and id together identify a tool call.
func (t *toolCalls) turnOf(p event.Payload, latest int, open bool) int {
	id := toolCallID(p)
	if _, announced := p.(event.ToolCall); announced && open && t.again(id, latest) {
		return latest
	}
	if turn, known := t.turn(id); known {
		return turn
	}
	return latest
}

// turn returns the turn of a known call.
func (t *toolCalls) turn(id string) (int, bool) {
	if call, known := t.calls[id]; known {
		return call.turn, true
	}
	return 0, false
}

// again reports whether an announced call reuses the id of a call that ended in an
// earlier turn. Some agents restart their ids with each prompt.
func (t *toolCalls) again(id string, turn int) bool {
	call, known := t.calls[id]
	return known && call.done && call.turn < turn
}

// said returns the known facts of a call.
func (t *toolCalls) said(id string) subject {
	if call, known := t.calls[id]; known {
		return call.about
	}
	return subject{}
}

// changedAt returns the seq of the last event that changed the facts of a call; 0
// for an unknown call.
func (t *toolCalls) changedAt(id string) event.Seq {
	if call, known := t.calls[id]; known {
		return call.changedAt
	}
	return 0
}

// see records the facts of a call from the event seq. An empty status does not
// change a known call; a new call then counts as begun.
func (t *toolCalls) see(seq event.Seq, turn int, said event.ToolCallFields) {
	id, status := said.ToolCallID, said.Status
	if parent := t.calls[parentOf(said.Raw)]; parent != nil {
		parent.delegates = true
	}
	if id == "" {
		return
	}
	call, known := t.calls[id]
	if !known || t.again(id, turn) {
		if t.calls == nil {
			t.calls = map[string]*toolCall{}
		}
		t.seen++
		call = &toolCall{id: id, turn: turn, order: t.seen}
		t.calls[id] = call
	}
	if slices.ContainsFunc(t.delegating, func(title string) bool { return strings.EqualFold(title, said.Title) }) {
		call.delegates = true
	}
	if about := call.about.upsert(said); !about.equal(call.about) {
		call.about, call.changedAt = about, seq
	}
	if status == "" || status.Done() == call.done {
		return
	}
	call.done = status.Done()
	if call.done {
		t.finished = append(t.finished, id)
		t.forget()
	}
}

// unfinished lists the unfinished calls in the order in which they began.
func (t *toolCalls) unfinished() []toolCall {
	var open []toolCall
	for _, call := range t.calls {
		if !call.done {
			open = append(open, *call)
		}
	}
	slices.SortFunc(open, func(a, b toolCall) int { return cmp.Compare(a.order, b.order) })
	return open
}

func (t *toolCalls) forget() {
	for len(t.finished) > rememberedTools {
		if call := t.calls[t.finished[0]]; call != nil && call.done {
			delete(t.calls, call.id)
		}
		t.finished = t.finished[1:]
	}
}
