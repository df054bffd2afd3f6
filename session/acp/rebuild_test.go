package acp_test

import (
	"encoding/json"
	"strconv"

	"github.com/abidehub/abide/session/event"
)

// object builds JSON objects; absent values are left out.
type object map[string]any

func (o object) set(key string, value any, present bool) {
	if present {
		o[key] = value
	}
}

func (o object) json() json.RawMessage {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return data
}

// rebuild restores the agent's line from an event, which shows that the event lost
// nothing. It returns nil for events that repeat another one.
func rebuild(p event.Payload) []json.RawMessage {
	switch p := p.(type) {
	case event.AgentStarted:
		var raw struct{ Initialize, Session json.RawMessage }
		if err := json.Unmarshal(p.Raw, &raw); err != nil {
			panic(err)
		}
		return []json.RawMessage{raw.Initialize, raw.Session}
	case event.AgentMessage:
		return chunkLine("agent_message_chunk", p.MessageID, p.Text, p.Content, p.Raw)
	case event.AgentThought:
		return chunkLine("agent_thought_chunk", p.MessageID, p.Text, p.Content, p.Raw)
	case event.ToolCall:
		return toolLine("tool_call", p.ToolCallFields)
	case event.ToolCallUpdate:
		return toolLine("tool_call_update", p.ToolCallFields)
	case event.TerminalOutput:
		return lines(nil, object{
			"sessionUpdate": "tool_call_update", "toolCallId": p.ToolCallID,
			"_meta": object{"terminal_output": object{"terminal_id": p.TerminalID, "data": p.Data}},
		})
	case event.Plan:
		return lines(p.Raw, object{"sessionUpdate": "plan", "entries": p.Entries})
	case event.Commands:
		list := []object{}
		for _, c := range p.Commands {
			o := object{"name": c.Name}
			o.set("description", c.Description, c.Description != "")
			o.set("input", object{"hint": c.Hint}, c.Hint != "")
			list = append(list, o)
		}
		return lines(p.Raw, object{"sessionUpdate": "available_commands_update", "availableCommands": list})
	case event.Mode:
		return lines(p.Raw, object{"sessionUpdate": "current_mode_update", "currentModeId": p.ModeID})
	case event.Config:
		return lines(p.Raw, object{"sessionUpdate": "config_option_update", "configOptions": p.Options})
	case event.Usage:
		o := object{"sessionUpdate": "usage_update", "used": p.Used, "size": p.Size}
		o.set("cost", p.Cost, p.Cost != nil)
		return lines(p.Raw, o)
	case event.Title:
		return lines(p.Raw, object{"sessionUpdate": "session_info_update", "title": p.Title})
	case event.PermissionRequest:
		options := []object{}
		for _, o := range p.Options {
			options = append(options, object{"optionId": o.OptionID, "name": o.Name, "kind": o.Kind})
		}
		return lines(p.Raw, object{"options": options, "toolCall": p.ToolCall})
	case event.TurnEnd:
		o := object{"stopReason": p.StopReason}
		o.set("usage", p.Usage, p.Usage != nil)
		return lines(p.Raw, o)
	case event.Note:
		return []json.RawMessage{p.Raw}
	}
	return nil
}

func lines(raw json.RawMessage, built object) []json.RawMessage {
	if raw != nil {
		return []json.RawMessage{raw}
	}
	return []json.RawMessage{built.json()}
}

func chunkLine(kind, id string, text event.Text, content, raw json.RawMessage) []json.RawMessage {
	var block any = object{"type": "text", "text": text}
	if content != nil {
		block = content
	}
	o := object{"sessionUpdate": kind, "content": block}
	o.set("messageId", id, !madeID.MatchString(strconv.Quote(id))) // the agent sent no id
	return lines(raw, o)
}

func toolLine(kind string, t event.ToolCallFields) []json.RawMessage {
	o := object{"sessionUpdate": kind, "toolCallId": t.ToolCallID}
	o.set("title", t.Title, t.Title != "")
	o.set("kind", t.Kind, t.Kind != "")
	o.set("status", t.Status, t.Status != "")
	o.set("content", t.Content, t.Content != nil)
	o.set("locations", t.Locations, t.Locations != nil)
	o.set("rawInput", t.RawInput, t.RawInput != nil)
	o.set("rawOutput", t.RawOutput, t.RawOutput != nil)
	return lines(t.Raw, o)
}

// resent has what is known of each tool call.
type resent map[string]*event.ToolCallFields

// lines restores an update whose content, and status, repeat the former ones.
func (r resent) lines(p event.Payload) []json.RawMessage {
	var said event.ToolCallFields
	switch p := p.(type) {
	case event.ToolCall:
		said = p.ToolCallFields
	case event.ToolCallUpdate:
		said = p.ToolCallFields
	default:
		return nil
	}
	known := r[said.ToolCallID]
	if known == nil {
		known = &event.ToolCallFields{}
		r[said.ToolCallID] = known
	}
	known.Upsert(said)
	if said.Content != nil {
		return nil
	}
	said.Content, said.ContentAdded, said.Raw = known.Whole(), "", nil
	again := said
	again.Status = known.Status
	return append(toolLine("tool_call_update", said), toolLine("tool_call_update", again)...)
}
