package main

import (
	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/server/wire"
)

// agentGate is a server.AgentSetup.
type agentGate struct{ setup *agentsetup.Setup }

// List implements server.AgentSetup.
func (g agentGate) List() (wire.AgentSetup, error) {
	list, err := g.setup.List()
	return list, refusal(err)
}
