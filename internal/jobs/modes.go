package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// modeFor is the mode in which the agent of a job begins that asks for one: one in which it
// asks, if that is known.
func modeFor(mode string, current *settings.Hub, name string) (string, error) {
	if name == "" {
		name = current.Agents[0].Name
	}
	agent := current.Agent(name)
	switch {
	case agent.ActsUnasked(mode):
		return "", fmt.Errorf("%w: in mode %s %s acts without asking, and the job's policy would not hold: use %s, or leave mode out", state.ErrInvalid, mode, name, agent.Asks)
	case mode == "" && (agent.Begin.Mode == "" || agent.ActsUnasked(agent.Begin.Mode)):
		return agent.Asks, nil
	}
	return mode, nil
}

// checkOptions refuses options that an agent does not have, according to those that it is
// known to have. The mode is none of them: what a job may do depends on it, and modeFor
// decides it.
func checkOptions(asked map[string]json.RawMessage, name string, known []state.AgentOption) error {
	var ids []string
	for _, o := range known {
		if o.Category != state.FieldMode {
			ids = append(ids, o.ID)
		}
	}
	for id, raw := range asked {
		at := slices.IndexFunc(known, func(o state.AgentOption) bool { return o.ID == id })
		var value string
		isText := json.Unmarshal(raw, &value) == nil
		switch {
		case id == state.FieldMode, at >= 0 && known[at].Category == state.FieldMode:
			return fmt.Errorf("%w: the mode of a job is given as mode, not as an option", state.ErrInvalid)
		case at < 0 && len(known) > 0:
			return fmt.Errorf("%w: %s has no option %q: it has %s", state.ErrInvalid, name, id, strings.Join(ids, ", "))
		case at >= 0 && isText && !known[at].Offers(value):
			return fmt.Errorf("%w: the option %s of %s has no value %q", state.ErrInvalid, id, name, value)
		}
	}
	return nil
}

// unheld says what of a job's policy and caps its agent does not hold.
func unheld(j event.Job, agent settings.Agent) (list []string) {
	if agent.Asks == "" {
		list = append(list, "The modes of its agent are not known: what the agent does without asking is not held, only its file and terminal methods and what it asks for.")
	}
	for _, c := range []struct {
		name string
		set  bool
	}{{"tokens", j.Caps.Tokens > 0}, {"cost", j.Caps.Cost > 0}} {
		switch {
		case !c.set || slices.Contains(agent.Reports, c.name):
		case len(agent.Reports) == 0:
			list = append(list, fmt.Sprintf("The limit %s may not hold: it is not known whether its agent reports it.", c.name))
		default:
			list = append(list, fmt.Sprintf("The limit %s does not hold: its agent does not report it.", c.name))
		}
	}
	return list
}
