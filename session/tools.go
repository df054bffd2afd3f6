package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// rememberedTools is how many finished tool calls are remembered, so that a
// late update finds the turn it belongs to.
const rememberedTools = 1024

// toolCalls keeps the turn and the facts of each tool call, and the calls that have
// not ended. It is fed by tool calls, their updates and permission requests alike,
// because agents begin with any of the three. The zero value is empty.
type toolCalls struct {
	calls map[string]*toolCall
	seen  int
	// finished holds ids in the order they ended. One that was taken up again
	// and ended again is there twice, and forgotten by the first.
	finished []string
	// delegating are the titles of calls that are sub-agents, as configured.
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
	// delegates says that it is a sub-agent: other calls name it as their parent, or
	// the configuration names a title that it had.
	delegates bool
}

// turnOf is the turn an event of the agent belongs to: that of its tool call, else
// the latest, which may be open. Turn and id together name a tool call: ids are the
// agent's, and may come again.
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

// turn is the turn of a known call.
func (t *toolCalls) turn(id string) (int, bool) {
	if call, known := t.calls[id]; known {
		return call.turn, true
	}
	return 0, false
}

// again reports whether a call that is announced is a new one with the id of
// one that ended in an earlier turn: some agents count anew for each prompt.
func (t *toolCalls) again(id string, turn int) bool {
	call, known := t.calls[id]
	return known && call.done && call.turn < turn
}

// said has the facts of a call so far; nothing of an unknown one.
func (t *toolCalls) said(id string) subject {
	if call, known := t.calls[id]; known {
		return call.about
	}
	return subject{}
}

// changedAt is the seq of the last event that changed the facts of a call; 0 for an
// unknown one.
func (t *toolCalls) changedAt(id string) event.Seq {
	if call, known := t.calls[id]; known {
		return call.changedAt
	}
	return 0
}

// see takes the facts of a call in the event seq. An empty status leaves a known
// call as it is; a new one then counts as begun.
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

// unfinished lists the calls that have not ended, in the order they began.
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
