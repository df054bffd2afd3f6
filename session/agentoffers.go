package session

import (
	"encoding/json"

	"github.com/abidehub/abide/session/event"
)

// agentOffers are the capabilities that an agent announced when it started.
type agentOffers struct {
	known     bool                // the agent has started
	resumable bool                // it can resume its session: only such an agent is stopped when idle
	prompts   *PromptCapabilities // nil if the agent did not report them
	logins    []string            // ids of its login methods
	modes     bool                // it has modes that are no option
}

// offersOf reads the capabilities that an agent announced at its start. Unreadable
// ones count as absent.
func offersOf(p event.AgentStarted) agentOffers {
	var raw struct {
		Initialize struct {
			Capabilities struct {
				Load    bool `json:"loadSession"`
				Session struct {
					Resume json.RawMessage `json:"resume"`
				} `json:"sessionCapabilities"`
				Prompts struct {
					Image           bool `json:"image"`
					Audio           bool `json:"audio"`
					EmbeddedContext bool `json:"embeddedContext"`
				} `json:"promptCapabilities"`
			} `json:"agentCapabilities"`
			AuthMethods []struct {
				ID string `json:"id"`
			} `json:"authMethods"`
		} `json:"initialize"`
	}
	o := agentOffers{known: true, modes: p.Settings != nil && p.Settings.Mode != ""}
	if json.Unmarshal(p.Raw, &raw) != nil {
		return o
	}
	c := raw.Initialize.Capabilities
	resume := string(c.Session.Resume)
	o.resumable = p.AgentSessionID != "" && (c.Load || resume != "" && resume != "null" && resume != "false")
	prompts := PromptCapabilities(c.Prompts)
	o.prompts = &prompts
	for _, m := range raw.Initialize.AuthMethods {
		o.logins = append(o.logins, m.ID)
	}
	return o
}
