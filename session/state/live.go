package state

import "time"

// TurnState is the state of the agent's work.
type TurnState string

const (
	TurnIdle       TurnState = "idle"
	TurnStarting   TurnState = "starting" // the agent process is being started
	TurnPrompting  TurnState = "prompting"
	TurnCancelling TurnState = "cancelling"
	TurnBlocked    TurnState = "blocked" // the log cannot be written for now
)

// Values lists the set.
func (TurnState) Values() []string {
	return []string{string(TurnIdle), string(TurnStarting), string(TurnPrompting), string(TurnCancelling), string(TurnBlocked)}
}

// Turn is the current turn. While idle, only State is set.
type Turn struct {
	State    TurnState `json:"state"`
	Number   int       `json:"number,omitempty"`
	PromptID string    `json:"prompt_id,omitempty"`
	// Since is when State began, in UTC.
	Since time.Time `json:"since,omitzero"`
	// ForceReset means that the agent has not answered a cancel for long: a person
	// may end the turn with force_reset.
	ForceReset bool `json:"force_reset,omitempty"`
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

// Values lists the set.
func (AgentStatus) Values() []string {
	return []string{string(AgentAbsent), string(AgentStarting), string(AgentReady), string(AgentStopping), string(AgentFailed)}
}

// Agent is a session's agent.
type Agent struct {
	Name    string      `json:"name"`
	Status  AgentStatus `json:"status"`
	Version string      `json:"version,omitempty"`
	// Message describes the problem or the wait, and the remedy.
	Message string `json:"message,omitempty"`
	// RestartAt is when the hub restarts the agent by itself, in UTC; zero if it will
	// not.
	RestartAt time.Time `json:"restart_at,omitzero"`
	// AuthMethods are the login methods if the agent requires a login.
	AuthMethods []AuthMethod `json:"auth_methods,omitempty"`
	// PromptCapabilities are the kinds of content that prompts may contain; nil
	// until the agent has reported them.
	PromptCapabilities *PromptCapabilities `json:"prompt_capabilities,omitempty"`
}

// AuthMethod is a login method of an agent.
type AuthMethod struct {
	MethodID    string `json:"method_id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Command is the command that a person runs in a terminal. Without one,
	// authenticate performs the login or Description explains it.
	Command []string `json:"command,omitempty"`
	// Configured means that Command is the agent's configured one, with arguments that
	// the agent adds. Another is the agent's own choice, which a client must say.
	Configured bool `json:"configured,omitempty"`
}

// PromptCapabilities are the attachments that an agent takes unchanged.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embedded_context"`
}
