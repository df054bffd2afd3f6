package export

import (
	"encoding/json"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// grownCalls has the contents and raw outputs of the turn's tool calls that were told in
// parts, by the calls' ids. In a redaction the first event has the whole value, as a
// message does.
type grownCalls struct{ contents, outputs map[string]*grownCall }

type grownCall struct {
	first event.Seq
	rest  []event.Seq
	said  event.ToolCallFields
}

func newGrownCalls() grownCalls {
	return grownCalls{map[string]*grownCall{}, map[string]*grownCall{}}
}

func (g grownCalls) see(e event.Event) {
	if e.Type != event.TypeToolCall && e.Type != event.TypeToolCallUpdate {
		return
	}
	var said event.ToolCallFields
	if json.Unmarshal(e.Data, &said) != nil {
		return
	}
	content := event.ToolCallFields{Content: said.Content, ContentCut: said.ContentCut, ContentAdded: said.ContentAdded}
	note(g.contents, said.ToolCallID, e.Seq, content, said.Content != nil, said.ContentAdded != "" || said.ContentCut > 0)
	output := event.ToolCallFields{RawOutput: said.RawOutput, OutputGrown: said.OutputGrown}
	note(g.outputs, said.ToolCallID, e.Seq, output, said.RawOutput != nil, said.OutputGrown != nil)
}

// note notes what an event says of a value of a call: all of it, what was added, or both.
func note(calls map[string]*grownCall, id string, seq event.Seq, said event.ToolCallFields, whole, grown bool) {
	call := calls[id]
	switch {
	case !whole && !grown:
	case call == nil || whole && len(call.rest) == 0:
		calls[id] = &grownCall{first: seq, said: said}
	case whole: // the former one is settled first
		calls[fmt.Sprintf("%s %d", id, call.first)] = call
		calls[id] = &grownCall{first: seq, said: said}
	default:
		call.rest = append(call.rest, seq)
		call.said.Continue(said)
		call.said.OutputGrown = call.said.OutputGrown.Then(said.OutputGrown)
	}
}

// settle says which event has which value, and learns the secrets in it.
func (g grownCalls) settle(r, learner *redactor) error {
	if err := settle(g.contents, r.contents, learner, (*event.ToolCallFields).Whole); err != nil {
		return err
	}
	return settle(g.outputs, r.outputs, learner, (*event.ToolCallFields).WholeOutput)
}

func settle(calls map[string]*grownCall, values map[event.Seq]json.RawMessage, learner *redactor, of func(*event.ToolCallFields) json.RawMessage) error {
	for _, call := range calls {
		said := &call.said
		if len(call.rest) == 0 && said.ContentAdded == "" && said.ContentCut == 0 && said.OutputGrown == nil {
			continue
		}
		whole := of(said)
		values[call.first] = whole
		for _, seq := range call.rest {
			values[seq] = nil
		}
		if whole == nil {
			continue
		}
		var value any
		if err := decodeNumbers(whole, &value); err != nil {
			return err
		}
		learner.words.Value(value)
	}
	clear(calls)
	return nil
}
