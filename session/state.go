package session

import (
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
)

// TurnState is whether and how the agent is at work.
type TurnState string

const (
	TurnIdle       TurnState = "idle"
	TurnStarting   TurnState = "starting" // the agent process is being started
	TurnPrompting  TurnState = "prompting"
	TurnCancelling TurnState = "cancelling"
	TurnBlocked    TurnState = "blocked" // the log cannot be written for now
)

// Turn is the current turn. While idle it is the zero Turn with its state.
type Turn struct {
	State    TurnState
	Number   int
	PromptID string
	// Since is when State began.
	Since time.Time
	// ForceReset says that the agent was asked to cancel long ago and does not
	// answer: a person may free the turn by ForceReset.
	ForceReset bool
}

// AgentStatus is how a session's agent process is.
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
	// RestartAt is when the hub starts the agent again by itself; zero when it
	// will not.
	RestartAt time.Time
	// AuthMethods are the ways to log in, when the agent wants a login.
	AuthMethods []AuthMethod
	// PromptCapabilities are the kinds of content that prompts may hold; nil until
	// the agent said it.
	PromptCapabilities *PromptCapabilities
}

// PromptCapabilities are the attachments an agent takes as they are.
type PromptCapabilities struct {
	Image           bool
	Audio           bool
	EmbeddedContext bool
}

// Observer is one client that follows the session.
type Observer struct {
	ClientID string
	Presence
}

// State is everything about a session that is worthless once old. The latest
// one wins. It is never changed after it was published, nor is anything it
// points to: readers share it.
type State struct {
	SessionID string
	// AtSeq is the last event this state reflects.
	AtSeq event.Seq
	Turn  Turn
	// PendingPermissions are the ids of open requests, oldest first.
	PendingPermissions []string
	Queue              []queue.Item
	// Mode, Config, Commands and Usage are as the agent last said them; nil
	// while it has not.
	Mode     *event.Mode
	Config   *event.Config
	Commands *event.Commands
	Usage    *event.Usage
	Agent    AgentState
	// Interruption is the turn that was cut off and is not settled; nil if there
	// is none.
	Interruption *Interruption
	// Restore is how far the agent was told the session; nil while it is not being
	// told.
	Restore *Restore
	// Observers are ordered by client id.
	Observers []Observer
}

// Status is a session in one word, for lists.
type Status string

const (
	StatusIdle        Status = "idle"
	StatusRunning     Status = "running"
	StatusNeedsYou    Status = "needs_you"   // a permission request is open, or the agent wants a login
	StatusFailed      Status = "failed"      // the latest turn ended with an error, or the agent does not start
	StatusInterrupted Status = "interrupted" // the latest turn was cut off, and a person decides
	StatusEnded       Status = "ended"
	StatusDamaged     Status = "damaged" // the log needs attention
)
