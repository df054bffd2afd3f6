package resume

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// wayAuto lets the hub choose how the agent gets the earlier context.
const wayAuto = "auto"

// Auto reports whether a request leaves the way to the hub.
func Auto(asked string) bool { return asked == "" || asked == wayAuto }

// Offer lists the ways to resume after an interruption.
type Offer struct {
	state.OpenInterruption
	Age time.Duration
	// Stale means that the interruption is older than the configured limit.
	Stale bool
	// Mismatch lists the changes since: "workspace" if the folder is missing or
	// another one, "repository", "branch", and "agent" if its command changed or it
	// is no longer configured. A resume must confirm them.
	Mismatch []string
	// Drift lists the settings of the restarted agent that differ from the recorded
	// ones. It is empty until the agent has started.
	Drift []Drift
	// Setup is the set-up command that failed; nil if none did.
	Setup *Setup
	// Lost are the unanswered permission requests.
	Lost []event.PermissionRequest
	// Prompt is the prompt that the agent would get.
	Prompt string
	Ways   []state.Way
	// Attachments belong to a prompt that the agent did not get.
	Attachments []event.Attachment
}

// Setup is a set-up command of a working copy that failed.
type Setup struct {
	Command []string
	// Failed says how.
	Failed string
}

// Facts are what an offer is made of, beside the checkpoint and the workspace.
type Facts struct {
	Open       state.OpenInterruption
	Age        time.Duration
	StaleAfter time.Duration
	// Remembers means that the agent has a session of its own to continue.
	Remembers bool
	// Segmented prefers segments to a summary for an agent that remembers nothing.
	Segmented bool
	Drift     []Drift
	Setup     *Setup
	// AgentChanged means that the agent's configured command differs from the last
	// one that ran, or that there is none.
	AgentChanged bool
}

// Offer returns the offer about the open interruption.
func (f Facts) Offer(c Checkpoint, w Workspace) Offer {
	o := Offer{
		OpenInterruption: f.Open, Age: f.Age, Stale: f.Age > f.StaleAfter, Lost: c.Lost,
		Drift: f.Drift, Setup: f.Setup, Prompt: Prompt(c, w), Ways: f.ways(w.Missing), Mismatch: Mismatch(c.Seen, w),
	}
	if !c.Given {
		o.Attachments = c.Attachments
	}
	if f.AgentChanged {
		o.Mismatch = append(o.Mismatch, "agent")
	}
	return o
}

func (f Facts) ways(missing bool) []state.Way {
	if missing {
		const why = "the workspace is gone"
		return []state.Way{{Way: event.WayServer, Why: why}, {Way: event.WayLocal, Why: why}, {Way: event.WaySegmented, Why: why}}
	}
	server := state.Way{Way: event.WayServer, Available: f.Remembers}
	if !f.Remembers {
		server.Why = "the agent has no session to continue"
	}
	return []state.Way{server, {Way: event.WayLocal, Available: true}, {Way: event.WaySegmented, Available: true}}
}

// Way returns the way that a request means: auto or empty, server, local or segmented.
func (f Facts) Way(asked string) (event.ResumeWay, error) {
	switch asked {
	case "", wayAuto:
		if f.Remembers {
			return event.WayServer, nil
		}
		if f.Segmented {
			return event.WaySegmented, nil
		}
		return event.WayLocal, nil
	case string(event.WayServer):
		if !f.Remembers {
			return "", fmt.Errorf("%w: the agent has no session to continue; resume locally", state.ErrConflict)
		}
		return event.WayServer, nil
	case string(event.WayLocal), string(event.WaySegmented):
		return event.ResumeWay(asked), nil
	}
	return "", fmt.Errorf("%w: a turn is resumed by auto, server, local or segmented", state.ErrInvalid)
}
