package state

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// AgentSettings are an agent's settings, as recorded in the log.
type AgentSettings struct {
	Name    string        `json:"name,omitempty"` // the agent's own name
	Version string        `json:"version,omitempty"`
	Mode    string        `json:"mode,omitempty"`
	Options []AgentOption `json:"options,omitempty"`
	// MCPServers is nil if the log does not list them.
	MCPServers []string `json:"mcp_servers,omitempty"`
	MCPKnown   bool     `json:"mcp_known,omitempty"`
	// Command is a digest of the agent's configured command.
	Command string `json:"command,omitempty"`
	// Wanted means that no agent has had these settings yet: the session is to begin
	// with them.
	Wanted bool `json:"wanted,omitempty"`
}

// FieldMode and FieldModel are the fields of settings that have a name of their own.
const (
	FieldMode  = "mode"
	FieldModel = "model"
)

// Setting is one setting that a client can change.
type Setting struct {
	// Field is mode, model, or options.ID. No two settings of an agent have the same.
	Field, Value string
	// Option is the option with this setting; nil for a mode that is no option.
	Option *AgentOption
}

// List lists the settings that a client can change. The mode and the option of category
// mode are one setting.
func (s AgentSettings) List() []Setting {
	var list []Setting
	if s.Mode != "" {
		list = append(list, Setting{Field: FieldMode, Value: s.Mode})
	}
	for i := range s.Options {
		o := &s.Options[i]
		field := o.field()
		switch at := slices.IndexFunc(list, func(one Setting) bool { return one.Field == field }); {
		case at < 0:
		case field == FieldMode && list[at].Option == nil:
			list[at].Option = o
			continue
		default:
			field = optionPrefix + o.ID
		}
		list = append(list, Setting{Field: field, Value: o.Text(), Option: o})
	}
	return list
}

// values returns the settings without what the agent offers beside them.
func (s AgentSettings) values() AgentSettings {
	s.Options = slices.Clone(s.Options)
	for i := range s.Options {
		s.Options[i].Choices = nil
	}
	return s
}

// Find returns the setting that is the same one as of, whose settings may be of another
// agent or time.
func (s AgentSettings) Find(of Setting) (Setting, bool) {
	list := s.List()
	at := slices.IndexFunc(list, func(one Setting) bool { return one.Field == of.Field })
	if at < 0 && of.Option != nil {
		at = slices.IndexFunc(list, func(one Setting) bool { return one.Option != nil && one.Option.ID == of.Option.ID })
	}
	if at < 0 {
		return Setting{}, false
	}
	return list[at], true
}

// wantedOf returns the settings with which a session is to begin; nil if it takes the
// agent's own.
func wantedOf(s *event.AgentSettings) *AgentSettings {
	if s == nil || s.Mode == "" && s.Model == "" && len(s.Options) == 0 {
		return nil
	}
	wanted := &AgentSettings{Mode: s.Mode, Wanted: true}
	if s.Model != "" {
		value, _ := json.Marshal(s.Model) // a string never fails
		wanted.Options = append(wanted.Options, AgentOption{Category: FieldModel, Value: value})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Options)) {
		wanted.Options = append(wanted.Options, AgentOption{ID: id, Value: s.Options[id]})
	}
	return wanted
}

// AgentOption is one of an agent's options and its value.
type AgentOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category,omitempty"`
	Value    json.RawMessage `json:"currentValue,omitempty"`
	// Choices are the values that the agent offers, flat or in groups.
	Choices json.RawMessage `json:"options,omitempty"`
}

// optionPrefix begins the field of an option.
const optionPrefix = "options."

// OptionsOf reads an agent's options. Unreadable ones are omitted.
func OptionsOf(raw json.RawMessage) []AgentOption {
	var all []json.RawMessage
	_ = json.Unmarshal(raw, &all) // then there are none
	var list []AgentOption
	for _, one := range all {
		var o AgentOption
		if json.Unmarshal(one, &o) == nil && o.ID != "" {
			list = append(list, o)
		}
	}
	return list
}

func (o AgentOption) field() string {
	switch o.Category {
	case FieldMode, FieldModel:
		return o.Category
	}
	return optionPrefix + o.ID
}

// Offers reports whether the agent offers a value for the option. It is true if the
// agent lists none, as for a switch.
func (o AgentOption) Offers(value string) bool {
	found, any := offers(o.Choices, value)
	return found || !any
}

// offers looks for a value in choices and in their groups.
func offers(choices json.RawMessage, value string) (found, any bool) {
	var list []struct {
		Value   *string         `json:"value"`
		Choices json.RawMessage `json:"options"`
	}
	_ = json.Unmarshal(choices, &list) // then there are none
	for _, c := range list {
		inside, some := offers(c.Choices, value)
		any = any || some || c.Value != nil
		found = found || inside || c.Value != nil && *c.Value == value
	}
	return found, any
}

// Text returns the option's value as text.
func (o AgentOption) Text() string {
	var text string
	if json.Unmarshal(o.Value, &text) == nil {
		return text
	}
	return string(o.Value)
}

// Native returns the option's value as SetConfigOption takes it.
func (o AgentOption) Native() any {
	var value any
	_ = json.Unmarshal(o.Value, &value) // the agent refuses an invalid value
	return value
}

// OfServer reports whether a tool call's title names a tool of an MCP server.
// Agents write mcp__server__tool, server_tool, server/tool and similar.
func OfServer(title, server string) bool {
	if strings.Contains(title, "mcp__"+server+"__") {
		return true
	}
	rest, is := strings.CutPrefix(title, server)
	return is && rest != "" && strings.ContainsAny(rest[:1], "_/.:")
}

// Drift is a setting of a restarted agent that differs from the recorded one.
type Drift struct {
	// Field is agent, version, mode, model, mcp_servers, or options.ID.
	Field    string `json:"field"`
	Recorded string `json:"recorded"`
	Current  string `json:"current"`
	// AllowsMore means that the agent may do more, or that the hub cannot tell.
	AllowsMore bool `json:"allows_more"`
}
