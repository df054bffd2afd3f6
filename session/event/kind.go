package event

import (
	"encoding/json"
	"fmt"
)

// The kinds of events.
const (
	TypeSessionStart        Type = "session_start"
	TypeUserPrompt          Type = "user_prompt"
	TypeTurnStart           Type = "turn_start"
	TypeTurnInterrupted     Type = "turn_interrupted"
	TypeTurnEnd             Type = "turn_end"
	TypeInterruptionSettled Type = "interruption_settled"
	TypeSessionPaused       Type = "session_paused"
	TypeSessionResumable    Type = "session_resumable"
	TypeSessionResumed      Type = "session_resumed"
	TypeWorkspaceSeen       Type = "workspace_seen"
	TypeAgentMessage        Type = "agent_message"
	TypeAgentThought        Type = "agent_thought"
	TypeToolCall            Type = "tool_call"
	TypeToolCallUpdate      Type = "tool_call_update"
	TypePlan                Type = "plan"
	TypePermissionRequest   Type = "permission_request"
	TypePermissionOutcome   Type = "permission_outcome"
	TypeFileRead            Type = "file_read"
	TypeFileWrite           Type = "file_write"
	TypeMode                Type = "mode"
	TypeConfig              Type = "config"
	TypeCommands            Type = "commands"
	TypeUsage               Type = "usage"
	TypeTitle               Type = "title"
	TypeAgentStarted        Type = "agent_started"
	TypeAgentExit           Type = "agent_exit"
	TypeAgentStalled        Type = "agent_stalled"
	TypeTerminalOutput      Type = "terminal_output"
	TypeError               Type = "error"
	TypeNote                Type = "note"
	TypeSessionEnd          Type = "session_end"
	TypeEpoch               Type = "epoch"
	TypeLogTruncated        Type = "log_truncated"
	TypeSegmentStart        Type = "segment_start"
	TypeCorrupt             Type = "corrupt"
)

// Kinds returns one zero payload for every kind of event, in the order of the
// documentation. Code generation and the tests that want a golden line for
// each kind walk it.
func Kinds() []Payload {
	return []Payload{
		SessionStart{},
		UserPrompt{},
		TurnStart{},
		TurnInterrupted{},
		TurnEnd{},
		InterruptionSettled{},
		SessionPaused{},
		SessionResumable{},
		SessionResumed{},
		WorkspaceSeen{},
		AgentMessage{},
		AgentThought{},
		ToolCall{},
		ToolCallUpdate{},
		Plan{},
		PermissionRequest{},
		PermissionOutcome{},
		FileRead{},
		FileWrite{},
		Mode{},
		Config{},
		Commands{},
		Usage{},
		Title{},
		AgentStarted{},
		AgentExit{},
		AgentStalled{},
		TerminalOutput{},
		Error{},
		Note{},
		SessionEnd{},
		Epoch{},
		LogTruncated{},
		SegmentStart{},
		Corrupt{},
	}
}

// EventType implements Payload.
func (SessionStart) EventType() Type { return TypeSessionStart }

// EventType implements Payload.
func (UserPrompt) EventType() Type { return TypeUserPrompt }

// EventType implements Payload.
func (TurnStart) EventType() Type { return TypeTurnStart }

// EventType implements Payload.
func (TurnInterrupted) EventType() Type { return TypeTurnInterrupted }

// EventType implements Payload.
func (InterruptionSettled) EventType() Type { return TypeInterruptionSettled }
func (WorkspaceSeen) EventType() Type       { return TypeWorkspaceSeen }
func (SessionPaused) EventType() Type       { return TypeSessionPaused }
func (SessionResumable) EventType() Type    { return TypeSessionResumable }
func (SessionResumed) EventType() Type      { return TypeSessionResumed }

// EventType implements Payload.
func (TurnEnd) EventType() Type { return TypeTurnEnd }

// EventType implements Payload.
func (AgentMessage) EventType() Type { return TypeAgentMessage }

// EventType implements Payload.
func (AgentThought) EventType() Type { return TypeAgentThought }

// EventType implements Payload.
func (ToolCall) EventType() Type { return TypeToolCall }

// EventType implements Payload.
func (ToolCallUpdate) EventType() Type { return TypeToolCallUpdate }

// EventType implements Payload.
func (Plan) EventType() Type { return TypePlan }

// EventType implements Payload.
func (PermissionRequest) EventType() Type { return TypePermissionRequest }

// EventType implements Payload.
func (PermissionOutcome) EventType() Type { return TypePermissionOutcome }

// EventType implements Payload.
func (FileRead) EventType() Type { return TypeFileRead }

// EventType implements Payload.
func (FileWrite) EventType() Type { return TypeFileWrite }

// EventType implements Payload.
func (Mode) EventType() Type { return TypeMode }

// EventType implements Payload.
func (Config) EventType() Type { return TypeConfig }

// EventType implements Payload.
func (Commands) EventType() Type { return TypeCommands }

// EventType implements Payload.
func (Usage) EventType() Type { return TypeUsage }

// EventType implements Payload.
func (Title) EventType() Type { return TypeTitle }

// EventType implements Payload.
func (AgentStarted) EventType() Type { return TypeAgentStarted }

// EventType implements Payload.
func (AgentExit) EventType() Type { return TypeAgentExit }

// EventType implements Payload.
func (AgentStalled) EventType() Type { return TypeAgentStalled }

// EventType implements Payload.
func (TerminalOutput) EventType() Type { return TypeTerminalOutput }

// EventType implements Payload.
func (Error) EventType() Type { return TypeError }

// EventType implements Payload.
func (Note) EventType() Type { return TypeNote }

// EventType implements Payload.
func (SessionEnd) EventType() Type { return TypeSessionEnd }

// EventType implements Payload.
func (Epoch) EventType() Type { return TypeEpoch }

// EventType implements Payload.
func (LogTruncated) EventType() Type { return TypeLogTruncated }

// EventType implements Payload.
func (SegmentStart) EventType() Type { return TypeSegmentStart }

// EventType implements Payload.
func (Corrupt) EventType() Type { return TypeCorrupt }

// Durable reports whether an event of this kind is shown only once it is synced to
// the device: events that people and the agent agree on, as opposed to streamed
// ones.
func (t Type) Durable() bool {
	switch t {
	case TypeUserPrompt, TypePermissionRequest, TypePermissionOutcome, TypeTurnInterrupted, TypeTurnEnd, TypeInterruptionSettled, TypeSessionPaused, TypeSessionResumed, TypeSessionResumable,
		TypeSessionStart, TypeSessionEnd, TypeEpoch, TypeLogTruncated, TypeSegmentStart:
		return true
	}
	return false
}

func decode(t Type, data json.RawMessage) (Payload, error) {
	switch t {
	case TypeSessionStart:
		return as[SessionStart](t, data)
	case TypeUserPrompt:
		return as[UserPrompt](t, data)
	case TypeTurnStart:
		return as[TurnStart](t, data)
	case TypeTurnInterrupted:
		return as[TurnInterrupted](t, data)
	case TypeTurnEnd:
		return as[TurnEnd](t, data)
	case TypeSessionPaused:
		return as[SessionPaused](t, data)
	case TypeSessionResumable:
		return as[SessionResumable](t, data)
	case TypeSessionResumed:
		return as[SessionResumed](t, data)
	case TypeInterruptionSettled:
		return as[InterruptionSettled](t, data)
	case TypeWorkspaceSeen:
		return as[WorkspaceSeen](t, data)
	case TypeAgentMessage:
		return as[AgentMessage](t, data)
	case TypeAgentThought:
		return as[AgentThought](t, data)
	case TypeToolCall:
		return as[ToolCall](t, data)
	case TypeToolCallUpdate:
		return as[ToolCallUpdate](t, data)
	case TypePlan:
		return as[Plan](t, data)
	case TypePermissionRequest:
		return as[PermissionRequest](t, data)
	case TypePermissionOutcome:
		return as[PermissionOutcome](t, data)
	case TypeFileRead:
		return as[FileRead](t, data)
	case TypeFileWrite:
		return as[FileWrite](t, data)
	case TypeMode:
		return as[Mode](t, data)
	case TypeConfig:
		return as[Config](t, data)
	case TypeCommands:
		return as[Commands](t, data)
	case TypeUsage:
		return as[Usage](t, data)
	case TypeTitle:
		return as[Title](t, data)
	case TypeAgentStarted:
		return as[AgentStarted](t, data)
	case TypeAgentExit:
		return as[AgentExit](t, data)
	case TypeAgentStalled:
		return as[AgentStalled](t, data)
	case TypeTerminalOutput:
		return as[TerminalOutput](t, data)
	case TypeError:
		return as[Error](t, data)
	case TypeNote:
		return as[Note](t, data)
	case TypeSessionEnd:
		return as[SessionEnd](t, data)
	case TypeEpoch:
		return as[Epoch](t, data)
	case TypeLogTruncated:
		return as[LogTruncated](t, data)
	case TypeSegmentStart:
		return as[SegmentStart](t, data)
	case TypeCorrupt:
		return as[Corrupt](t, data)
	}
	return Unknown{Type: t, Raw: data}, nil
}

func as[P Payload](t Type, data json.RawMessage) (Payload, error) {
	var p P
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return p, nil
}
