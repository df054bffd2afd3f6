package session

import (
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// TurnState is the state of the agent's work.
type TurnState string

const (
	TurnIdle       TurnState = "idle"
	TurnStarting   TurnState = "starting" // the agent process is being started
	TurnPrompting  TurnState = "prompting"
	TurnCancelling TurnState = "cancelling"
	TurnBlocked    TurnState = "blocked" // the log cannot be written for now
)

// Turn is the current turn. While idle, only State is set.
type Turn struct {
	State    TurnState
	Number   int
	PromptID string
	// Since is when State began.
	Since time.Time
	// ForceReset means that the agent has not answered a cancel for long: a person
	// may end the turn with ForceReset.
	ForceReset bool
}

// AgentStatus is the status of a session's agent process.
type AgentStatus string

const (
	AgentAbsent   AgentStatus = "absent" // not running; the next prompt starts it
	AgentStarting AgentStatus = "starting"
	AgentReady    AgentStatus = "ready"
	AgentStopping AgentStatus = "stopping"
	AgentFailed   AgentStatus = "failed" // a person decides how to go on
)

// AgentState is a session's agent.
type AgentState struct {
	Name    string
	Status  AgentStatus
	Version string
	// Message describes the problem or the wait, and the remedy.
	Message string
	// RestartAt is when the hub restarts the agent by itself; zero if it will not.
	RestartAt time.Time
	// AuthMethods are the login methods if the agent requires a login.
	AuthMethods []AuthMethod
	// PromptCapabilities are the kinds of content that prompts may contain; nil
	// until the agent has reported them.
	PromptCapabilities *PromptCapabilities
}

// PromptCapabilities are the attachments that an agent takes unchanged.
type PromptCapabilities struct {
	Image           bool
	Audio           bool
	EmbeddedContext bool
}

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
	// Restore is the progress of a segmented restore; nil if none is running.
	Restore *Restore
	// Observers are ordered by client id.
	Observers []state.Observer
}
