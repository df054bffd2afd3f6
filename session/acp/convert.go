package acp

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// methodUpdate is the notification for nearly all output of an agent.
const methodUpdate = "session/update"

// converter converts the agent's updates to payloads. A partly understood update
// keeps the agent's own JSON as raw; an unknown one becomes an event.Note. It
// belongs to the reader.
type converter struct {
	messages messageIDs
	contents contents
	cuts     cuts
	modes    []event.ModeOption
}

// settled forgets the turn that ended.
func (c *converter) settled() {
	c.messages.interrupt()
	c.contents, c.cuts = nil, nil
}

// update converts the update object of a session/update; nil means that it is no
// object. whole is the JSON for raw if the fields are not complete: the update, or
// the notification's params if they have more.
func (c *converter) update(e *effect, f *fields, whole json.RawMessage, exact bool) {
	if f == nil {
		e.record(event.Note{Method: methodUpdate, Raw: whole})
		return
	}
	var kind string
	f.name("sessionUpdate", &kind)
	f.lossy = f.lossy || !exact
	switch kind {
	case "agent_message_chunk":
		e.record(c.message(f, whole))
	case "agent_thought_chunk":
		e.record(c.thought(f, whole))
	case "tool_call":
		c.messages.interrupt()
		if t, said := c.tool(e, f, whole); said {
			c.contents.know(f, t)
			e.record(event.ToolCall{ToolCallFields: t})
		}
	case "tool_call_update":
		c.messages.interrupt()
		if t, said := c.tool(e, f, whole); said {
			c.contents.grow(f, &t, exact)
			e.record(event.ToolCallUpdate{ToolCallFields: t})
		}
	case "plan":
		e.record(plan(f, whole))
	case "available_commands_update":
		e.record(commands(f, whole))
	case "current_mode_update":
		e.record(c.mode(f, whole))
	case "config_option_update":
		e.record(config(f, whole))
	case "usage_update":
		e.record(usage(f, whole))
	case "session_info_update":
		e.record(title(f, whole))
	default:
		// user_message_chunk, notice and compaction_* among them. Their text is
		// extracted for clients that do not know the kind.
		e.record(event.Note{Method: methodUpdate, Text: event.Text(words(f)), Raw: whole})
	}
}

func one(p event.Payload) []event.Payload { return []event.Payload{p} }

// rest returns whole if the fields are incomplete.
func rest(f *fields, whole json.RawMessage) json.RawMessage {
	if f.complete() {
		return nil
	}
	return whole
}

// modeWords begin a message in which an agent tells its client of a change of the mode:
// it is no answer.
const modeWords = "[MODE_UPDATE]"

func (c *converter) message(f *fields, whole json.RawMessage) event.Payload {
	var p event.AgentMessage
	f.opt("messageId", &p.MessageID)
	p.MessageID = c.messages.id(chunkMessage, p.MessageID)
	c.chunk(f, chunks{chunkMessage, p.MessageID}, &p.Text, &p.Content)
	if strings.HasPrefix(string(p.Text), modeWords) {
		return event.Note{Method: methodUpdate, Raw: whole}
	}
	p.Raw = rest(f, whole)
	return p
}

func (c *converter) thought(f *fields, whole json.RawMessage) event.Payload {
	var p event.AgentThought
	f.opt("messageId", &p.MessageID)
	p.MessageID = c.messages.id(chunkThought, p.MessageID)
	c.chunk(f, chunks{chunkThought, p.MessageID}, &p.Text, &p.Content)
	p.Raw = rest(f, whole)
	return p
}

// chunk takes the content of a chunk of the text that key identifies.
func (c *converter) chunk(f *fields, key chunks, text *event.Text, content *json.RawMessage) {
	block := f.inside("content")
	if block == nil {
		f.raw("content", content)
		return
	}
	var kind, said string
	if block.name("type", &kind) && kind == "text" && c.cuts.text(block, "text", key, &said) {
		*text = event.Text(said)
		f.take("content")
		f.lossy = f.lossy || !block.complete()
		return
	}
	f.raw("content", content)
}

func toolFields(f *fields) event.ToolCallFields {
	var t event.ToolCallFields
	f.identifier("toolCallId", &t.ToolCallID)
	if f.label("title", &t.Title) && t.Title == "" {
		f.lossy = true // the event cannot express an empty one
	}
	word(f, "kind", &t.Kind)
	word(f, "status", &t.Status)
	f.raw("content", &t.Content)
	located := f.objects("locations", func(at *fields) {
		var l event.Location
		at.text("path", &l.Path)
		l.Line = at.count("line")
		t.Locations = append(t.Locations, l)
	})
	// An empty array removes the locations; the event omits it.
	f.lossy = f.lossy || located && len(t.Locations) == 0
	f.raw("rawInput", &t.RawInput)
	f.raw("rawOutput", &t.RawOutput)
	return t
}

// tool converts a tool call or its update. If the agent runs a terminal itself, the
// output is in _meta and becomes separate events. said is false if nothing else was
// said.
func (c *converter) tool(e *effect, f *fields, whole json.RawMessage) (t event.ToolCallFields, said bool) {
	t = toolFields(f)
	output := c.foreignTerminal(f, t.ToolCallID)
	e.record(output...)
	if onlyID(t) && f.complete() && len(output) > 0 {
		return t, false
	}
	t.Raw = rest(f, whole)
	return t, true
}

func onlyID(t event.ToolCallFields) bool {
	return t.Title == "" && t.Kind == "" && t.Status == "" && t.Content == nil && t.Locations == nil &&
		t.RawInput == nil && t.RawOutput == nil
}

// foreignTerminal converts _meta.terminal_output and terminal_exit.
func (c *converter) foreignTerminal(f *fields, tool string) []event.Payload {
	meta := f.inside("_meta")
	if meta == nil {
		return nil
	}
	var out []event.Payload
	if o := meta.inside("terminal_output"); o != nil {
		p := event.TerminalOutput{ToolCallID: tool}
		var data string
		if o.identifier("terminal_id", &p.TerminalID) && c.cuts.text(o, "data", chunks{chunkTerminal, p.TerminalID}, &data) {
			p.Data = event.Text(data)
			out = append(out, p)
			if o.complete() {
				meta.take("terminal_output")
			}
		}
	}
	if o := meta.inside("terminal_exit"); o != nil {
		p := event.TerminalOutput{ToolCallID: tool, Exit: &event.TerminalExit{}}
		if o.identifier("terminal_id", &p.TerminalID) {
			p.Exit.Code = o.count("exit_code")
			o.text("signal", &p.Exit.Signal)
			o.takeNulls() // null means the same as absent
			out = append(out, p)
			if o.complete() {
				meta.take("terminal_exit")
			}
		}
	}
	if len(out) > 0 && meta.empty() {
		f.take("_meta")
	}
	return out
}

func plan(f *fields, whole json.RawMessage) event.Payload {
	p := event.Plan{Entries: []event.PlanEntry{}}
	f.objects("entries", func(entry *fields) {
		var e event.PlanEntry
		entry.label("content", &e.Content)
		word(entry, "priority", &e.Priority)
		word(entry, "status", &e.Status)
		p.Entries = append(p.Entries, e)
	})
	p.Raw = rest(f, whole)
	return p
}

func commands(f *fields, whole json.RawMessage) event.Payload {
	p := event.Commands{Commands: []event.Command{}}
	f.objects("availableCommands", func(command *fields) {
		var c event.Command
		command.label("name", &c.Name)
		command.opt("description", &c.Description)
		command.object("input", func(input *fields) { input.opt("hint", &c.Hint) })
		p.Commands = append(p.Commands, c)
	})
	p.Raw = rest(f, whole)
	return p
}

func (c *converter) mode(f *fields, whole json.RawMessage) event.Payload {
	p := event.Mode{Modes: c.modes}
	f.text("currentModeId", &p.ModeID)
	p.Raw = rest(f, whole)
	return p
}

// modeState takes the modes of a response to session/new, load or resume.
func (c *converter) modeState(f *fields, key string) (event.Mode, bool) {
	var raw json.RawMessage
	if m := f.get(key); m != nil {
		raw = m.value
	}
	var p event.Mode
	said := f.object(key, func(state *fields) {
		state.text("currentModeId", &p.ModeID)
		state.objects("availableModes", func(mode *fields) {
			var m event.ModeOption
			mode.text("id", &m.ID)
			mode.label("name", &m.Name)
			mode.opt("description", &m.Description)
			p.Modes = append(p.Modes, m)
		})
		p.Raw = rest(state, raw)
	})
	if said {
		c.modes = p.Modes
	}
	return p, said && p.ModeID != ""
}

func config(f *fields, whole json.RawMessage) event.Config {
	var p event.Config
	if f.raw("configOptions", &p.Options) {
		p.Options = bytes.Clone(p.Options) // the session retains them
	}
	p.Raw = rest(f, whole)
	return p
}

func usage(f *fields, whole json.RawMessage) event.Payload {
	var p event.Usage
	f.integer("used", &p.Used)
	f.integer("size", &p.Size)
	f.object("cost", func(cost *fields) {
		var c event.Cost
		cost.number("amount", &c.Amount)
		cost.text("currency", &c.Currency)
		p.Cost = &c
	})
	p.Raw = rest(f, whole)
	return p
}

// title converts session_info_update. Without a title it is a note, because only a
// title is shown.
func title(f *fields, whole json.RawMessage) event.Payload {
	var p event.Title
	if !f.label("title", &p.Title) {
		return event.Note{Method: methodUpdate, Raw: whole}
	}
	p.Raw = rest(f, whole)
	return p
}

// words finds a readable text in an update of another kind.
func words(f *fields) string {
	var heading, text string
	f.text("title", &heading)
	f.object("content", func(block *fields) { block.text("text", &text) })
	for _, key := range []string{"description", "message", "summary"} {
		if text == "" {
			f.text(key, &text)
		}
	}
	if heading != "" && text != "" {
		return heading + "\n" + text
	}
	return heading + text
}
