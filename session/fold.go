package session

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// fold is the state of a session computed from its log: the turn, the open calls
// and requests, the agent's last settings. The same code follows a live session and
// recovers one after a crash, so both have the same state.
type fold struct {
	seq event.Seq // last event applied
	at  time.Time // time of the event being applied

	turn      int // latest turn; 0 before the first
	promptID  string
	promptSeq event.Seq // of the latest prompt
	open      bool      // the latest turn has no end
	failed    bool      // the latest turn ended with an error
	// login means that the latest turn ended because the agent requires a login.
	login         bool
	interruptions interruptions
	// given counts the turns given to agents. A new agent session after the first
	// turn has lost context.
	given int
	// completed is the latest turn with a complete answer.
	completed int

	tools       toolCalls
	permissions permissions
	rules       []Rule // of this session, oldest first

	mode     *event.Mode
	config   *event.Config
	commands *event.Commands
	usage    *event.Usage

	// cutNow is the interruption that the recovery wrote; nil if none.
	cutNow         *event.TurnInterrupted
	agentSessionID string
	agent          agentSettings // without mode and options, which are above
	// before has the settings of the previous agent until the present one gets a
	// prompt.
	before *agentSettings
	// mcpTools are the tools of MCP servers that were used.
	mcpTools []string
	// halfTold means that the agent's session got only a part of the segments, so
	// it cannot be used.
	halfTold    bool
	ended       bool
	recorder    recorder
	title       string // from the agent
	firstPrompt string // title made from the first prompt
	line        lastLine

	// changed is set when a field other than seq and line changes. The reader
	// resets it.
	changed bool
}

// turnOf returns the turn of an agent's event.
func (f *fold) turnOf(p event.Payload) int { return f.tools.turnOf(p, f.turn, f.open) }

// toolCallID returns the tool call that a payload is about; empty if none.
func toolCallID(p event.Payload) string {
	switch p := p.(type) {
	case event.ToolCall:
		return p.ToolCallID
	case event.ToolCallUpdate:
		return p.ToolCallID
	case event.TerminalOutput:
		return p.ToolCallID
	case event.PermissionRequest:
		return p.ToolCallID
	}
	return ""
}

// applyEvent applies one event of the log. An event that cannot be decoded is
// skipped.
func (f *fold) applyEvent(e event.Event) {
	if !folded(e.Type) {
		f.seq = e.Seq
		return
	}
	p, err := e.Payload()
	if err != nil {
		f.seq = e.Seq
		return
	}
	f.at = e.Time
	f.apply(e.Seq, e.Turn, p)
}

// folded reports whether apply uses events of a type. The others, the bulk of a
// log, need not be decoded.
func folded(t event.Type) bool {
	switch t {
	case event.TypeAgentThought, event.TypePlan, event.TypeFileRead, event.TypeFileWrite,
		event.TypeAgentStalled, event.TypeTerminalOutput, event.TypeCorrupt, event.TypeWorkspaceSeen:
		return false
	}
	return true
}

// apply applies the next event.
func (f *fold) apply(seq event.Seq, turn int, p event.Payload) {
	f.seq = seq
	switch p := p.(type) {
	case event.AgentMessage:
		f.line.chunk(p.MessageID, p.Text)
	case event.ToolCall:
		f.tools.see(seq, turn, p.ToolCallFields)
		f.usedTool(p.Title)
	case event.ToolCallUpdate:
		f.tools.see(seq, turn, p.ToolCallFields)
	case event.Error:
		f.line.fail(p.Message)
	default:
		f.changed = f.applyTurn(seq, turn, p) || f.applyAgent(p) || f.changed
	}
}

// applyTurn applies events of turns and requests.
func (f *fold) applyTurn(seq event.Seq, turn int, p event.Payload) bool {
	switch p := p.(type) {
	case event.UserPrompt:
		f.turn, f.promptID, f.open = max(turn, f.turn), p.PromptID, true
		f.failed, f.login, f.ended, f.promptSeq = false, false, false, seq
		f.interruptions.prompted(f.at, p)
		if f.firstPrompt == "" {
			f.firstPrompt = firstSentence(string(p.Text))
		}
		f.line.say(p.Text)
	case event.TurnStart:
		f.given++
		f.before, f.halfTold = nil, false
	case event.TurnInterrupted:
		f.interruptions.open(seq, f.at, p)
	case event.InterruptionSettled:
		f.interruptions.settle(f.at, p)
	case event.TurnEnd:
		if p.StopReason == event.StopEndTurn {
			f.completed = f.turn
		}
		if f.halfTold {
			f.agentSessionID, f.halfTold = "", false
		}
		f.open, f.login = false, p.Error != nil && p.Error.Code == codeAuthRequired
		// A turn that was cancelled, or that ended with the hub, has not failed.
		if f.failed = p.Error != nil && (p.StopReason == event.StopInterrupted || p.StopReason == event.StopAgentExit); f.failed {
			f.line.fail(p.Error.Message)
		}
	case event.PermissionRequest:
		fields := fieldsAsked(p.ToolCall)
		fields.ToolCallID = p.ToolCallID
		f.tools.see(seq, turn, fields)
		f.permissions.ask(p, turn, f.subjectOf(p))
	case event.PermissionOutcome:
		f.permissions.settle(p)
	case event.Note:
		f.halfTold = f.halfTold || p.Method == transcript.NoteSegment
		return f.foldRule(p) || f.foldRecording(p) || f.foldFork(p)
	case event.SessionEnd:
		f.ended, f.recorder.Open = true, false
	default:
		return false
	}
	return true
}

// applyAgent applies events about the agent.
func (f *fold) applyAgent(p event.Payload) bool {
	switch p := p.(type) {
	case event.AgentStarted:
		f.login = false
		f.startedWith(p)
		f.agentSessionID = p.AgentSessionID
		if p.Resumed == "" {
			f.tools = toolCalls{delegating: f.tools.delegating} // a new agent session starts new call ids
		}
	case event.Mode:
		if p.Modes == nil && f.mode != nil { // only the first mode event lists the modes
			p.Modes = f.mode.Modes
		}
		p.Raw = nil
		f.mode = &p
	case event.Config:
		f.config = &p
	case event.Commands:
		p.Raw = nil
		f.commands = &p
	case event.Usage:
		p.Raw = nil
		f.usage = &p
	case event.Title:
		f.title = cut(oneLine(p.Title), titleRunes)
	default:
		return false
	}
	return true
}

// name is the session's name unless a person named it.
func (f *fold) name() string {
	if f.title != "" {
		return f.title
	}
	return f.firstPrompt
}

// foldFork applies the note with the summary of a fork: its agent has earlier
// context.
func (f *fold) foldFork(n event.Note) bool {
	if n.Method != transcript.NoteForked {
		return false
	}
	f.given++
	return true
}
