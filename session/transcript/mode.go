package transcript

import (
	"encoding/json"

	"github.com/abidehub/abide/session/event"
)

// modeCategory is the category of the option that says the agent's mode. Agents offer
// it beside the modes of a session or instead of them, and tell a change by only one of
// the two.
const modeCategory = "mode"

// modeOption is an option of this category. Its choices come flat or in groups.
type modeOption struct {
	Category string       `json:"category"`
	Value    string       `json:"currentValue"`
	Choices  []modeChoice `json:"options"`
}

type modeChoice struct {
	Value       string       `json:"value"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Choices     []modeChoice `json:"options"`
}

func (o modeOption) modes() []event.ModeOption { return modesOf(nil, o.Choices) }

func modesOf(list []event.ModeOption, choices []modeChoice) []event.ModeOption {
	for _, c := range choices {
		if len(c.Choices) > 0 {
			list = modesOf(list, c.Choices)
			continue
		}
		list = append(list, event.ModeOption{ID: c.Value, Name: c.Name, Description: c.Description})
	}
	return list
}

// Choices lists the values that an agent offers for an option, in its own JSON: flat, or
// in groups.
func Choices(raw json.RawMessage) []event.ModeOption {
	var choices []modeChoice
	_ = json.Unmarshal(raw, &choices) // then there are none
	return modesOf(nil, choices)
}

func has(modes []event.ModeOption, id string) bool {
	for _, m := range modes {
		if m.ID == id {
			return true
		}
	}
	return false
}

// findMode returns the option that says the mode, and its index.
func findMode(options []json.RawMessage) (modeOption, int) {
	for i, one := range options {
		var o modeOption
		if json.Unmarshal(one, &o) == nil && o.Category == modeCategory {
			return o, i
		}
	}
	return modeOption{}, -1
}

// ModeIn returns the mode after the agent told these options: mode itself, unless the
// option of category mode says another one that mode knows. An agent without modes of
// its own has those of the option. mode may be nil and is not changed.
func ModeIn(options json.RawMessage, mode *event.Mode) *event.Mode {
	var list []json.RawMessage
	if json.Unmarshal(options, &list) != nil {
		return mode
	}
	o, at := findMode(list)
	switch {
	case at < 0 || o.Value == "":
		return mode
	case mode == nil:
		return &event.Mode{ModeID: o.Value, Modes: o.modes()}
	case mode.ModeID == o.Value, len(mode.Modes) > 0 && !has(mode.Modes, o.Value):
		return mode
	}
	changed := *mode
	changed.ModeID, changed.By, changed.ByID = o.Value, "", ""
	return &changed
}

// OptionsIn returns the options after the agent told its mode: options itself, unless
// the one of category mode offers this mode and says another one.
func OptionsIn(mode string, options json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(options, &list) != nil {
		return options
	}
	o, at := findMode(list)
	if at < 0 || o.Value == mode || len(o.Choices) > 0 && !has(o.modes(), mode) {
		return options
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(list[at], &fields) != nil {
		return options
	}
	var err error
	if fields["currentValue"], err = json.Marshal(mode); err != nil {
		return options
	}
	if list[at], err = json.Marshal(fields); err != nil {
		return options
	}
	changed, err := json.Marshal(list)
	if err != nil {
		return options
	}
	return changed
}
