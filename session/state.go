package session

import (
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// The parts of a State that clients get as they are.
type (
	TurnState          = state.TurnState
	Turn               = state.Turn
	AgentStatus        = state.AgentStatus
	AgentState         = state.Agent
	AuthMethod         = state.AuthMethod
	PromptCapabilities = state.PromptCapabilities
)

const (
	TurnIdle       = state.TurnIdle
	TurnStarting   = state.TurnStarting
	TurnPrompting  = state.TurnPrompting
	TurnCancelling = state.TurnCancelling
	TurnBlocked    = state.TurnBlocked

	AgentAbsent   = state.AgentAbsent
	AgentStarting = state.AgentStarting
	AgentReady    = state.AgentReady
	AgentStopping = state.AgentStopping
	AgentFailed   = state.AgentFailed
)

// State is everything about a session of which only the latest value counts. A
// published State and everything it points to never changes: readers share it.
type State struct {
	SessionID string
	// AtSeq is the last event that this state includes.
	AtSeq event.Seq
	Turn  Turn
	// Policy decides about permission requests while no person watches; nil if none
	// was recorded at the session's start: the hub's configuration applies.
	Policy *event.Policy
	// PendingPermissions are the ids of open requests, oldest first.
	PendingPermissions []string
	Queue              []queue.Item
	// Mode, Config, Commands and Usage are the agent's last reports; nil before the
	// first.
	Mode     *event.Mode
	Config   *event.Config
	Commands *event.Commands
	Usage    *event.Usage
	Agent    AgentState
	// Interruption is the unsettled interruption; nil if none.
	Interruption *state.Interruption
	// Suggestions are the open entries of the agent's plan, in its order.
	Suggestions []string
	// Paused is the pause of the session; nil if it is not paused.
	Paused *state.Paused
	// Restore is the progress of a segmented restore; nil if none is running.
	Restore *state.Restore
	// Observers are ordered by client id.
	Observers []state.Observer
}
