package jobs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Told is an event of a job's session as an event of the job. ok is false for one that says
// nothing of the job.
func Told(e event.Event) (told wire.JobEvent, ok bool) {
	p, err := e.Payload()
	if err != nil {
		return told, false
	}
	told = wire.JobEvent{Timestamp: e.Time, Seq: e.Seq, Source: wire.FromCoder}
	say := func(kind wire.JobEventType, message string, detail json.RawMessage) (wire.JobEvent, bool) {
		told.Type, told.Message, told.Detail = kind, message, detail
		return told, true
	}
	switch p := p.(type) {
	case event.SessionStart:
		if p.Job == nil {
			return told, false
		}
		told.Source = wire.FromOrchestrator
		return say(wire.JobStatus, string(event.JobQueued), nil)
	case event.ToolCall:
		return say(toolEvent(p.ToolCallFields), toolWords(p.ToolCallFields), toolDetail(p.ToolCallFields))
	case event.ToolCallUpdate:
		if !p.Status.Done() {
			return told, false
		}
		return say(wire.JobToolResult, toolWords(p.ToolCallFields), toolDetail(p.ToolCallFields))
	case event.AgentMessage:
		return say(wire.JobLog, string(p.Text), nil)
	case event.Error:
		told.Source = wire.FromSystem
		return say(wire.JobError, p.Message, nil)
	case event.TurnEnd:
		if p.Error == nil {
			return told, false
		}
		return say(wire.JobError, p.Error.Message, nil)
	case event.PermissionRequest:
		return say(wire.JobLog, "Asks: "+p.Title, nil)
	case event.PermissionOutcome:
		told.Source = wire.FromOrchestrator
		words := string(p.Outcome)
		if p.OptionID != "" {
			words += " " + p.OptionID
		}
		return say(wire.JobLog, strings.TrimSuffix(fmt.Sprintf("Answered: %s (%s)", words, p.Reason), " ()"), nil)
	case event.Note:
		return toldNote(told, p)
	}
	return told, false
}

// toldNote is Told for the hub's statements about the job.
func toldNote(told wire.JobEvent, n event.Note) (wire.JobEvent, bool) {
	told.Source, told.Detail = wire.FromOrchestrator, n.Raw
	switch n.Statement() {
	case state.NoteJob:
		var step event.JobStep
		if json.Unmarshal(n.Raw, &step) != nil {
			return told, false
		}
		told.Type, told.Message = wire.JobStatus, string(step.Status)
	case state.NoteCheckpoint:
		var at event.JobCheckpoint
		if json.Unmarshal(n.Raw, &at) != nil {
			return told, false
		}
		told.Type, told.Message = wire.JobCheckpoint, at.Line
	case state.NoteJobVerdict:
		var v event.JobVerdict
		if json.Unmarshal(n.Raw, &v) != nil {
			return told, false
		}
		told.Source, told.Type, told.Message = wire.FromAuditor, wire.JobLog, v.Words()
	default:
		return told, false
	}
	return told, true
}

func toolEvent(f event.ToolCallFields) wire.JobEventType {
	if f.Status.Done() {
		return wire.JobToolResult
	}
	return wire.JobToolCall
}

func toolWords(f event.ToolCallFields) string {
	if f.Title != "" {
		return f.Title
	}
	return string(f.Status)
}

// toolDetail names the call, so that its result can be found.
func toolDetail(f event.ToolCallFields) json.RawMessage {
	raw, err := json.Marshal(struct {
		ToolCallID string           `json:"tool_call_id"`
		Kind       event.ToolKind   `json:"kind,omitempty"`
		Status     event.ToolStatus `json:"status,omitempty"`
	}{f.ToolCallID, f.Kind, f.Status})
	if err != nil { // encoding strings never fails
		panic(err)
	}
	return raw
}

// Lasting reports whether an event of a job is told however old it is: its status, its
// checkpoints, and the verdicts of its auditor.
func Lasting(e wire.JobEvent) bool {
	return e.Type == wire.JobStatus || e.Type == wire.JobCheckpoint || e.Source == wire.FromAuditor
}
