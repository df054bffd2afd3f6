package event

// The string types below are closed sets. Values lists each in the order of
// the documentation; the TypeScript unions are generated from it. A value
// outside its set can still arrive from a newer agent: it is kept and shown.

// StopReason says why a turn ended.
type StopReason string

const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
	StopInterrupted     StopReason = "interrupted" // the turn failed or was ended by force
	StopHubRestart      StopReason = "hub_restart" // the hub ended during the turn
	StopAgentExit       StopReason = "agent_exit"  // the agent ended during the turn
)

// Values lists the set.
func (StopReason) Values() []string {
	return []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "interrupted", "hub_restart", "agent_exit"}
}

// InterruptReason is why a turn was interrupted.
type InterruptReason string

const (
	CutHubRestart    InterruptReason = "hub_restart"     // found open when the hub started
	CutHubStop       InterruptReason = "hub_stop"        // the hub was stopped
	CutAgentExit     InterruptReason = "agent_exit"      // the agent process ended
	CutAgentRestart  InterruptReason = "agent_restart"   // the agent was restarted
	CutProviderError InterruptReason = "provider_error"  // the agent answered the prompt with an error
	CutCancelled     InterruptReason = "agent_cancelled" // the agent reported a cancel that no one asked for
	CutPaused        InterruptReason = "paused"
	CutPersonPaused  InterruptReason = "person_paused" // a person paused the session
)

// Values lists the set.
func (InterruptReason) Values() []string {
	return []string{"hub_restart", "hub_stop", "agent_exit", "agent_restart", "provider_error", "agent_cancelled", "paused", "person_paused"}
}

// Words says for a person how a turn was interrupted: the same in lists, the feed, cards,
// notifications, exports and the command line (frontend/src/state/cause.ts).
func (r InterruptReason) Words() string {
	switch r {
	case CutHubRestart:
		return "Interrupted: the hub restarted."
	case CutHubStop:
		return "Interrupted: the hub was stopped."
	case CutAgentExit:
		return "Interrupted: the agent ended."
	case CutAgentRestart:
		return "Interrupted: the agent was restarted."
	case CutProviderError:
		return "Failed: the model's provider answered with an error."
	case CutCancelled:
		return "Interrupted: the agent cancelled the turn by itself."
	case CutPaused:
		return "Waiting for your choice: the turn has not begun."
	case CutPersonPaused:
		return "Interrupted: the session was paused."
	}
	return "Interrupted: it did not end by itself."
}

// TurnPhase is the agent's activity when its turn was interrupted.
type TurnPhase string

const (
	PhaseStreaming  TurnPhase = "streaming_llm"
	PhaseTools      TurnPhase = "executing_tools"
	PhaseDelegating TurnPhase = "delegating" // an open tool call is a sub-agent
)

// Values lists the set.
func (TurnPhase) Values() []string { return []string{"streaming_llm", "executing_tools", "delegating"} }

// Unattended is what happens to a permission request that no person watches.
type Unattended string

const (
	UnattendedWait Unattended = "wait" // for a person
	UnattendedDeny Unattended = "deny" // it is rejected at once
)

// Values lists the set.
func (Unattended) Values() []string { return []string{"wait", "deny"} }

// SettledAs is the outcome of an interruption.
type SettledAs string

const (
	SettledResumed    SettledAs = "resumed"
	SettledDismissed  SettledAs = "dismissed"
	SettledSuperseded SettledAs = "superseded" // another prompt came first
)

// Values lists the set.
func (SettledAs) Values() []string { return []string{"resumed", "dismissed", "superseded"} }

// ResumeWay is how the agent gets the earlier context when a turn is resumed.
type ResumeWay string

const (
	WayServer    ResumeWay = "server"    // the agent's own session is resumed or loaded
	WayLocal     ResumeWay = "local"     // a new agent session with a summary
	WaySegmented ResumeWay = "segmented" // a new agent session that gets the transcript
)

// Values lists the set.
func (ResumeWay) Values() []string { return []string{"server", "local", "segmented"} }

// ToolKind is the kind of a tool call.
type ToolKind string

// Values lists the set.
func (ToolKind) Values() []string {
	return []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
}

// ToolStatus is the progress of a tool call.
type ToolStatus string

const (
	ToolPending    ToolStatus = "pending"
	ToolInProgress ToolStatus = "in_progress"
	ToolCompleted  ToolStatus = "completed"
	ToolFailed     ToolStatus = "failed"
)

// Values lists the set.
func (ToolStatus) Values() []string {
	return []string{"pending", "in_progress", "completed", "failed"}
}

// Done reports whether the call has ended.
func (s ToolStatus) Done() bool { return s == ToolCompleted || s == ToolFailed }

// PlanPriority is the importance of a plan entry.
type PlanPriority string

// Values lists the set.
func (PlanPriority) Values() []string { return []string{"high", "medium", "low"} }

// PlanStatus is the progress of a plan entry.
type PlanStatus string

const (
	PlanPending    PlanStatus = "pending"
	PlanInProgress PlanStatus = "in_progress"
	PlanCompleted  PlanStatus = "completed"
)

// Values lists the set.
func (PlanStatus) Values() []string {
	return []string{string(PlanPending), string(PlanInProgress), string(PlanCompleted)}
}

// PermissionKind is the meaning of an option of a permission request.
type PermissionKind string

const (
	AllowOnce    PermissionKind = "allow_once"
	AllowAlways  PermissionKind = "allow_always"
	RejectOnce   PermissionKind = "reject_once"
	RejectAlways PermissionKind = "reject_always"
)

// Values lists the set.
func (PermissionKind) Values() []string {
	return []string{"allow_once", "allow_always", "reject_once", "reject_always"}
}

// Allows reports whether the option allows the action.
func (k PermissionKind) Allows() bool { return k == AllowOnce || k == AllowAlways }

// Outcome says how a permission request was settled.
type Outcome string

const (
	OutcomeSelected  Outcome = "selected"
	OutcomeCancelled Outcome = "cancelled"
)

// Values lists the set.
func (Outcome) Values() []string { return []string{"selected", "cancelled"} }

// Resumption is how a restarted agent continued its session.
type Resumption string

const (
	ResumedByResume Resumption = "resume"
	ResumedByLoad   Resumption = "load"
)

// Values lists the set.
func (Resumption) Values() []string { return []string{"resume", "load"} }
