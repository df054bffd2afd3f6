package resume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/state"
)

// Drift is package state's.
type Drift = state.Drift

// DriftChoice is a person's choice about drift.
type DriftChoice string

const (
	// DriftApply sets the recorded settings again.
	DriftApply DriftChoice = "apply"
	// DriftKeep accepts the agent's present settings.
	DriftKeep DriftChoice = "keep"
)

// Differences lists the settings that differ in now from those that an agent is to have,
// each field once. A setting that is absent in now is not compared, because it cannot
// allow more; if the session is to begin with it, it differs.
func Differences(s, now state.AgentSettings) []Drift {
	var rows []Drift
	differs := func(field, recorded, current string, allowsMore bool) {
		if recorded != "" && current != "" && recorded != current {
			rows = append(rows, Drift{Field: field, Recorded: recorded, Current: current, AllowsMore: allowsMore})
		}
	}
	differs("agent", s.Name, now.Name, true)
	differs("version", s.Version, now.Version, false)
	for _, one := range s.List() {
		current, has := now.Find(one)
		if !has && s.Wanted {
			rows = append(rows, Drift{Field: one.Field, Recorded: one.Value})
			continue
		}
		if has {
			differs(one.Field, one.Value, current.Value, allowsMore(one, current))
		}
	}
	if s.MCPKnown && now.MCPKnown {
		recorded, current := slices.Sorted(slices.Values(s.MCPServers)), slices.Sorted(slices.Values(now.MCPServers))
		more := slices.ContainsFunc(current, func(name string) bool { return !slices.Contains(recorded, name) })
		differs("mcp_servers", names(recorded), names(current), more)
	}
	return rows
}

func names(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

// allowsMore reports whether another value of a setting may let the agent do more.
// Changing the model or its effort never does.
func allowsMore(recorded, current state.Setting) bool {
	if recorded.Field == state.FieldMode {
		return modeAllowsMore(recorded.Value, current.Value)
	}
	category := ""
	if recorded.Option != nil {
		category = recorded.Option.Category
	}
	if category == "" && current.Option != nil {
		category = current.Option.Category
	}
	switch category {
	case "model", "model_config", "thought_level":
		return false
	}
	return true // its category does not say
}

// asksNothing is the rank from which an agent asks for nothing.
const asksNothing = 4

// AsksNothing reports whether an agent is known to ask for no permission in a mode.
func AsksNothing(mode string) bool { return modeRanks[strings.ToLower(mode)] >= asksNothing }

// modeRanks orders the modes of known agents by what they allow without asking.
var modeRanks = map[string]int{
	"plan": 1, "read-only": 1, "readonly": 1, "architect": 1,
	"ask": 2, "default": 2, "manual": 2,
	"acceptedits": 3, "auto_edit": 3, "autoedit": 3, "build": 3, "code": 3,
	"auto": asksNothing, "auto-accept": asksNothing,
	"bypasspermissions": 5, "yolo": 5, "full-access": 5, "agent-full-access": 5,
}

// modeAllowsMore reports whether a mode may allow more than the recorded one. It is
// true for an unknown mode.
func modeAllowsMore(recorded, current string) bool {
	was, known := modeRanks[strings.ToLower(recorded)]
	is, also := modeRanks[strings.ToLower(current)]
	return !known || !also || is > was
}

// AllowMore reports whether one of the differences may let the agent do more.
func AllowMore(rows []Drift) bool {
	return slices.ContainsFunc(rows, func(d Drift) bool { return d.AllowsMore })
}

// Describe lists the settings that differ, as text.
func Describe(rows []Drift) string {
	list := make([]string, 0, len(rows))
	for _, d := range rows {
		list = append(list, fmt.Sprintf("%s %s (recorded: %s)", fieldWords(d.Field), short(cmp.Or(d.Current, "not offered")), short(d.Recorded)))
	}
	return strings.Join(list, ", ")
}

func short(value string) string { return state.Cut(state.OneLine(value), 200) }

func fieldWords(field string) string {
	if field == "mcp_servers" {
		return "MCP servers"
	}
	return strings.TrimPrefix(field, "options.")
}

// Settable reports whether the hub can set this setting.
func Settable(field string) bool {
	return field != "agent" && field != "version" && field != "mcp_servers"
}
