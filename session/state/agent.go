package state

import (
	"encoding/json"
	"strings"
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
}

// AgentOption is one of an agent's options and its value.
type AgentOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category,omitempty"`
	Value    json.RawMessage `json:"currentValue,omitempty"`
}

// optionsOf reads an agent's options. Unreadable ones are omitted.
func optionsOf(raw json.RawMessage) []AgentOption {
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

// Field is the name of the option as a field of a drift.
func (o AgentOption) Field() string {
	switch o.Category {
	case "mode", "model":
		return o.Category
	}
	return "options." + o.ID
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
