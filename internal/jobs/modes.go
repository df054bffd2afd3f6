package jobs

import (
	"fmt"
	"slices"

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
