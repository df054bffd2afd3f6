package export

import (
	"encoding/json"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// grownCalls has the contents of the turn's tool calls that were told in parts, by the
// calls' ids. In a redaction the first event has the whole content, as a message does.
type grownCalls map[string]*grownCall

type grownCall struct {
	first event.Seq
	rest  []event.Seq
	said  event.ToolCallFields
}

func (g grownCalls) see(e event.Event) {
	if e.Type != event.TypeToolCall && e.Type != event.TypeToolCallUpdate {
		return
	}
	var said event.ToolCallFields
	if json.Unmarshal(e.Data, &said) != nil {
		return
	}
	call := g[said.ToolCallID]
	switch {
	case said.Content == nil && said.ContentAdded == "":
	case call == nil || said.Content != nil && len(call.rest) == 0:
		g[said.ToolCallID] = &grownCall{first: e.Seq, said: said}
	case said.Content != nil: // the former one is settled first
		g[fmt.Sprintf("%s %d", said.ToolCallID, call.first)] = call
		g[said.ToolCallID] = &grownCall{first: e.Seq, said: said}
	default:
		call.rest = append(call.rest, e.Seq)
		call.said.ContentAdded += said.ContentAdded
	}
}

// settle says which event has which content, and learns the secrets in it.
func (g grownCalls) settle(r, learner *redactor) error {
	for _, call := range g {
		if len(call.rest) == 0 && call.said.ContentAdded == "" {
			continue
		}
		whole := call.said.Whole()
		r.contents[call.first] = whole
		for _, seq := range call.rest {
			r.contents[seq] = nil
		}
		var content any
		if err := decodeNumbers(whole, &content); err != nil {
			return err
		}
		learner.words.Value(content)
	}
	clear(g)
	return nil
}
