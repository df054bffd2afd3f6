package acp

import (
	"encoding/json"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// permission converts a session/request_permission. Some agents announce their tool
// call only here, so its fields come first as an update of the call. Others refer
// to an announced call without more data: the session knows its title.
func (c *converter) permission(r *request) []event.Payload {
	p := event.PermissionRequest{PermissionID: r.question.id, Options: []event.PermissionOption{}}
	f, err := objectFields(r.params)
	if err != nil {
		p.Raw = r.params
		return one(p)
	}
	var session string
	f.text("sessionId", &session)
	f.objects("options", func(option *fields) {
		var o event.PermissionOption
		option.text("optionId", &o.OptionID) // not shortened: it is the answer to the agent
		option.label("name", &o.Name)
		word(option, "kind", &o.Kind)
		if usable(o.OptionID) && !offered(p.Options, o.OptionID) {
			p.Options = append(p.Options, o)
		} else {
			option.lossy = true
		}
	})
	var payloads []event.Payload
	if f.raw("toolCall", &p.ToolCall) {
		if call, err := objectFields(p.ToolCall); err == nil {
			t := toolFields(call)
			t.Raw = rest(call, p.ToolCall)
			p.ToolCallID, p.Title = t.ToolCallID, t.Title
			if t.ToolCallID != "" {
				c.contents.know(call, t)
				payloads = append(payloads, event.ToolCallUpdate{ToolCallFields: t})
			}
		}
	}
	p.Raw = rest(f, r.params)
	return append(payloads, p)
}

// usable reports whether an option can be offered to a person.
func usable(optionID string) bool { return optionID != "" && len(optionID) <= labelBytes }

// offered reports whether an option with that id exists. The answer contains only
// the id, so a second option with it could not be distinguished.
func offered(options []event.PermissionOption, id string) bool {
	return slices.ContainsFunc(options, func(o event.PermissionOption) bool { return o.OptionID == id })
}

// answerable reports whether a person could answer a session/request_permission.
func answerable(params json.RawMessage) bool {
	var p struct {
		Options []struct {
			OptionID string `json:"optionId"`
		} `json:"options"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	return slices.ContainsFunc(p.Options, func(o struct {
		OptionID string `json:"optionId"`
	}) bool {
		return usable(o.OptionID)
	})
}

// The options of a form are the protocol's actions.
const (
	optionAccept  = "accept"
	optionDecline = "decline"
)

// elicitation converts an elicitation/create: a question with a form, or with a
// page to visit, is handled like a permission request.
func elicitation(r *request) event.Payload {
	p := event.PermissionRequest{
		PermissionID: r.question.id,
		Options: []event.PermissionOption{
			{OptionID: optionAccept, Name: "Send", Kind: event.AllowOnce},
			{OptionID: optionDecline, Name: "Decline", Kind: event.RejectOnce},
		},
		Raw: r.params,
	}
	if f, err := objectFields(r.params); err == nil {
		f.label("message", &p.Title)
		f.identifier("toolCallId", &p.ToolCallID)
		f.raw("requestedSchema", &p.Form)
		if f.text("url", &p.URL) {
			p.Options[0].Name = "Done"
		}
	}
	if p.Title == "" {
		p.Title = "The agent asks for input"
	}
	return p
}

// answerTo is the result that tells the agent the outcome of its question.
func (q *question) answerTo(o event.PermissionOutcome) json.RawMessage {
	selected := o.Outcome == event.OutcomeSelected
	if !q.form {
		outcome := map[string]string{"outcome": string(event.OutcomeCancelled)}
		if selected {
			outcome = map[string]string{"outcome": string(event.OutcomeSelected), "optionId": o.OptionID}
		}
		return mustJSON(map[string]any{"outcome": outcome})
	}
	switch {
	case !selected:
		return json.RawMessage(`{"action":"cancel"}`)
	case o.OptionID != optionAccept:
		return json.RawMessage(`{"action":"decline"}`)
	case len(o.Content) == 0:
		return json.RawMessage(`{"action":"accept"}`)
	}
	return mustJSON(map[string]any{"action": "accept", "content": o.Content})
}
