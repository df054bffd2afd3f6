package event_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

func ptr[T any](v T) *T { return &v }

var exampleTime = time.Date(2026, 2, 21, 14, 3, 7, 123456000, time.UTC)

// exampleJob is a job with every field set.
func exampleJob() *event.Job {
	return &event.Job{
		Task: "Say hello in greet.go.", Files: []string{"greet.go"}, Options: map[string]json.RawMessage{"effort": json.RawMessage(`"high"`)}, DelegatedBy: "20260220-090000-9f3a11c0", Tell: true, RetryOf: "20260221-130000-9f3a11c0",
		Policy: event.JobPolicy{
			Preset: event.PresetEditTest, Outside: event.OutsidePark,
			Allow: []event.Allowed{{Kind: "edit", Path: "src"}, {Kind: "execute", Command: "go test *"}},
		},
		Caps:   event.JobCaps{WallS: 3600, RoundS: 300, Rounds: 50, Tokens: 100000, Cost: 2.5, Events: 20000, OutputBytes: 1 << 20},
		Resume: event.JobAuto, Priority: 1,
	}
}

// examples returns one payload of every kind with every field set, so that the
// golden lines show every field.
func examples() []event.Payload {
	fields := func(status event.ToolStatus) event.ToolCallFields {
		return event.ToolCallFields{
			ToolCallID: "call_1", Title: "Edit greet.go", Kind: "edit", Status: status,
			Content:    json.RawMessage(`[{"type":"diff","path":"/src/greet.go","oldText":"hi","newText":"hello"}]`),
			ContentCut: 1, ContentAdded: "ok",
			Locations: []event.Location{{Path: "/src/greet.go", Line: ptr(3)}},
			RawInput:  json.RawMessage(`{"path":"greet.go"}`), RawOutput: json.RawMessage(`{"ok":true}`),
			OutputGrown: &event.Grown{Member: "stdout", Cut: 2, Added: "ok"},
			Synthetic:   true, Raw: json.RawMessage(`{"_meta":{"a":1}}`),
		}
	}
	attachment := event.Attachment{Name: "shot.png", MediaType: "image/png", Bytes: 70, SHA256: "ab12"}
	return []event.Payload{
		event.SessionStart{Format: 1, SessionID: "20260221-140307-9f3a11c0", Epoch: "0123456789abcdef", Agent: "demo", Workspace: "/src",
			ProjectRoot: "/src", Git: &event.Git{Commit: "4f1c2d", Branch: "main", Dirty: true}, CreatedBy: "owner", CreatedByID: "4be9771c0a5d2e38", RequestKey: "k1", RequestHash: "0e7c9f3a11c09f3a11c09f3a11c09f3a", Settings: &event.AgentSettings{MCPServers: []string{"files"}, Rules: []string{"r1"}},
			Policy: &event.Policy{Unattended: event.UnattendedDeny, WaitLimitMS: 60000, Configured: true}, ForkedFrom: &event.Forked{SessionID: "20260220-090000-9f3a11c0", Seq: 40}, Adopted: &event.Adopted{AgentSessionID: "0b5d1c1e"}, Worktree: &event.Worktree{Folder: "/home/ann/.local/share/abide-worktrees/src/say-hello", Branch: "abide/say-hello", Base: "main", Commit: "4f1c2d", Of: "/src", Setup: true}, Job: exampleJob()},
		event.UserPrompt{PromptID: "p1", Text: "Say <b>hi</b> & wave \u2028", Attachments: []event.Attachment{attachment}, Actor: "phone", ByID: "4be9771c0a5d2e38", QueuedAt: ptr(exampleTime), OriginalHash: "9f3a11c09f3a11c09f3a11c09f3a11c0", Author: "laptop", AuthorID: "77aa51c0de90b3f2"},
		event.TurnStart{PromptID: "p1", Files: "8f87af79d36b9a71c873e4060f44c6301465b9b8", NoUndo: "there are more than 10000 files"},
		event.TurnInterrupted{InterruptionID: "i1", Turn: 2, PromptID: "p1", Reason: event.CutAgentExit, Phase: event.PhaseTools, Checkpoint: event.Checkpoint{FromSeq: 2, ToSeq: 9}, LastAt: ptr(exampleTime)},
		event.TurnEnd{PromptID: "p1", StopReason: event.StopInterrupted, By: "phone", ByID: "4be9771c0a5d2e38", Usage: json.RawMessage(`{"totalTokens":9}`),
			Error: &event.Failure{Code: "agent_error", Message: "the model is overloaded"}, Raw: json.RawMessage(`{"stopReason":"x"}`)},
		event.InterruptionSettled{InterruptionID: "i1", Outcome: event.SettledResumed, Way: event.WayServer, PromptID: "p2", By: "phone", ByID: "4be9771c0a5d2e38"},
		event.SessionPaused{By: "phone", ByID: "4be9771c0a5d2e38"},
		event.SessionResumable{Resumable: true, By: "phone", ByID: "4be9771c0a5d2e38"},
		event.SessionResumed{Way: event.WayLocal, By: "phone", ByID: "4be9771c0a5d2e38"},
		event.WorkspaceSeen{Folder: "64769:131", Root: "4f1c2d", Remote: "https://example.invalid/a.git", Branch: "main", Commit: "9a0b1c", Repository: true, Changed: []string{" M greet.go"}, More: 3},
		event.AgentMessage{MessageID: "m1", Text: "Hello **you**", Content: json.RawMessage(`{"type":"image"}`), Raw: json.RawMessage(`{"a":1}`)},
		event.AgentThought{MessageID: "m2", Text: "Let me think", Content: json.RawMessage(`{"type":"image"}`), Raw: json.RawMessage(`{"a":1}`)},
		event.ToolCall{ToolCallFields: fields(event.ToolPending)},
		event.ToolCallUpdate{ToolCallFields: fields(event.ToolFailed)},
		event.Plan{Entries: []event.PlanEntry{{Content: "Read", Priority: "high", Status: "completed"}, {Content: "Write", Priority: "low", Status: "pending"}}, Raw: json.RawMessage(`{"a":1}`)},
		event.PermissionRequest{PermissionID: "perm1", ToolCallID: "call_1", Title: "Edit greet.go",
			Options:  []event.PermissionOption{{OptionID: "yes", Name: "Allow", Kind: event.AllowOnce}, {OptionID: "no", Name: "Reject", Kind: event.RejectOnce}},
			ToolCall: json.RawMessage(`{"toolCallId":"call_1"}`), Form: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`),
			URL: "https://example.invalid/sign-in", Raw: json.RawMessage(`{"a":1}`)},
		event.PermissionOutcome{PermissionID: "perm1", Outcome: event.OutcomeSelected, OptionID: "yes", Content: json.RawMessage(`{"colour":"red"}`), By: "phone", ByID: "4be9771c0a5d2e38", Rule: "r1", Reason: "rule"},
		event.FileRead{Path: "/src/a.go", Bytes: 12, Lines: 2},
		event.FileWrite{Path: "/src/a.go", Bytes: 12, Lines: 2, SHA256: strings.Repeat("5e", 32)},
		event.Mode{ModeID: "code", Modes: []event.ModeOption{{ID: "code", Name: "Code", Description: "writes files"}}, By: "phone", ByID: "4be9771c0a5d2e38", Raw: json.RawMessage(`{"a":1}`)},
		event.Config{Options: json.RawMessage(`[{"id":"model","type":"select","currentValue":"big"}]`), By: "phone", ByID: "4be9771c0a5d2e38", Raw: json.RawMessage(`{"a":1}`)},
		event.Commands{Commands: []event.Command{{Name: "plan", Description: "makes a plan", Hint: "what for"}}, Raw: json.RawMessage(`{"a":1}`)},
		event.Usage{Used: 1200, Size: 200000, Cost: &event.Cost{Amount: 0.25, Currency: "USD"}, Raw: json.RawMessage(`{"a":1}`)},
		event.Title{Title: "Greeting in Go", Raw: json.RawMessage(`{"a":1}`)},
		event.AgentStarted{Agent: "demo", PID: 4711, Name: "abide demo", Version: "1.0", AgentSessionID: "s1", Resumed: event.ResumedByResume, ContextLost: true, Raw: json.RawMessage(`{"a":1}`),
			Settings: &event.AgentSettings{Mode: "ask", Model: "m", Options: map[string]json.RawMessage{"model": json.RawMessage(`"m"`)}, MCPServers: []string{"files"}, Rules: []string{"r1"}}},
		event.AgentExit{Code: ptr(1), Signal: "killed", Reason: "killed", StderrTail: "boom"},
		event.AgentStalled{SilentMS: 600000},
		event.TerminalOutput{TerminalID: "t1", ToolCallID: "call_1", Data: "ok\n", Exit: &event.TerminalExit{Code: ptr(0), Signal: "TERM"}},
		event.Error{Code: "protocol", Message: "a line was not JSON", Detail: "hello"},
		event.Note{Method: "_vendor/thing", From: event.FromAgent, Text: "context is lost", Raw: json.RawMessage(`{"any":["thing",null]}`), By: "phone", ByID: "4be9771c0a5d2e38"},
		event.SessionEnd{Reason: "archived", By: "owner", ByID: "4be9771c0a5d2e38", Result: json.RawMessage(`{"pull_request":7}`)},
		event.Epoch{Epoch: "fedcba9876543210", Reason: "the machine stopped uncleanly"},
		event.LogTruncated{From: 8, To: 11},
		event.SegmentStart{Format: 1, SessionID: "20260221-140307-9f3a11c0", Epoch: "0123456789abcdef", FirstSeq: 1000, Prev: "9f3a11c0",
			Made: event.Made{Agent: "demo", Workspace: "/src", ProjectRoot: "/src", CreatedBy: "owner", CreatedByID: "4be9771c0a5d2e38",
				RequestKey: "k1", RequestHash: "0e7c9f3a11c09f3a11c09f3a11c09f3a", CreatedAt: ptr(exampleTime),
				Policy: &event.Policy{Unattended: event.UnattendedWait}, ForkedFrom: &event.Forked{SessionID: "20260220-090000-9f3a11c0", Seq: 40}, Adopted: &event.Adopted{AgentSessionID: "0b5d1c1e"}, Worktree: &event.Worktree{Folder: "/home/ann/.local/share/abide-worktrees/src/say-hello", Branch: "abide/say-hello", Base: "main", Commit: "4f1c2d", Of: "/src", Setup: true}, Job: exampleJob()}},
		event.Corrupt{Reason: "checksum"},
	}
}
