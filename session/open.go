package session

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// fold is what a log says so far: which turn, what is open, what the agent last
// said of itself. The same fold follows a live session and recovers one after a
// crash, so both agree on what is open.
type fold struct {
	seq event.Seq // the last event folded in
	at  time.Time // of the event that is folded in

	turn      int // the latest turn; 0 before the first
	promptID  string
	promptSeq event.Seq // of the latest prompt
	open      bool      // the latest turn has no end
	failed    bool      // the latest turn ended with an error
	// login says that the latest turn ended because the agent wants a login.
	login         bool
	interruptions interruptions
	// given counts the turns an agent was given. An agent that begins anew
	// after the first has lost something.
	given int
	// completed is the latest turn whose answer the agent completed.
	completed int

	tools       toolCalls
	permissions permissions
	rules       []Rule // of this session, oldest first

	mode     *event.Mode
	config   *event.Config
	commands *event.Commands
	usage    *event.Usage

	// delegating are the titles of calls that are sub-agents, as configured.
	delegating     []string
	agentSessionID string
	agent          agentSettings // but for mode and options, which are above
	// before is what the agent before this one worked with, until this one is
	// given a prompt.
	before *agentSettings
	// mcpTools are the tools of MCP servers that were used.
	mcpTools    []string
	ended       bool
	recorder    recorder
	title       string // as the agent gave it
	firstPrompt string // a title made of the first prompt
	line        lastLine

	// changed is set when something other than seq and line changed. Whoever
	// looks clears it.
	changed bool
}

// turnOf is the turn an event of the agent belongs to: that of its tool call,
// else the latest, also after that has ended. Turn and id together name a tool
// call: ids are the agent's, and may come again.
func (f *fold) turnOf(p event.Payload) int {
	id := toolCallID(p)
	if _, announced := p.(event.ToolCall); announced && f.open && f.tools.again(id, f.turn) {
		return f.turn
	}
	if turn, known := f.tools.turn(id); known {
		return turn
	}
	return f.turn
}

// toolCallID is the tool call a payload is about, if it is about one.
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

// applyEvent folds in one event of the log. One that cannot be decoded counts
// as seen: a later one may still say the same.
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

// folded reports whether apply looks at events of a type. It spares decoding
// the bulk of a log.
func folded(t event.Type) bool {
	switch t {
	case event.TypeAgentThought, event.TypePlan, event.TypeFileRead, event.TypeFileWrite,
		event.TypeAgentStalled, event.TypeTerminalOutput, event.TypeCorrupt:
		return false
	}
	return true
}

// apply folds in the next event.
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

// applyTurn folds in what moves the turn and its requests.
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
		f.before = nil
	case event.TurnInterrupted:
		f.interruptions.open(seq, f.at, p)
	case event.InterruptionSettled:
		f.interruptions.settle(f.at, p)
	case event.TurnEnd:
		if p.StopReason == event.StopEndTurn {
			f.completed = f.turn
		}
		f.open, f.login = false, p.Error != nil && p.Error.Code == codeAuthRequired
		// A cancel that took force was asked for, and the end of the hub is none of the turn's.
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
		return f.foldRule(p) || f.foldRecording(p)
	case event.SessionEnd:
		f.ended, f.recorder.Open = true, false
	default:
		return false
	}
	return true
}

// applyAgent folds in what the agent says of itself.
func (f *fold) applyAgent(p event.Payload) bool {
	switch p := p.(type) {
	case event.AgentStarted:
		f.login = false
		f.startedWith(p)
		f.agentSessionID = p.AgentSessionID
		if p.Resumed == "" {
			f.tools = toolCalls{} // an agent that begins anew counts anew
		}
	case event.Mode:
		if p.Modes == nil && f.mode != nil { // the list of modes is said once
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

// name is what the session is called when no person named it.
func (f *fold) name() string {
	if f.title != "" {
		return f.title
	}
	return f.firstPrompt
}

// memory is the part of a fold that metadata keeps under options, beside what
// is open. It only ever spares folding: without it the whole log is folded.
type memory struct {
	// Epoch is the log's identity when this was written.
	Epoch string `json:"epoch"`
	// Named is only read: before the metadata had a field of its own for it, it
	// was here.
	Named         bool          `json:"named,omitempty"`
	Given         int           `json:"given,omitempty"`
	Completed     int           `json:"completed,omitempty"`
	Ended         bool          `json:"ended,omitempty"`
	Login         bool          `json:"login,omitempty"`
	PromptSeq     event.Seq     `json:"prompt_seq,omitempty"`
	Interruptions interruptions `json:"interruptions,omitzero"`
	// Recorder is the program that records or recorded the session.
	Recorder recorder `json:"recorder,omitzero"`
	// Failed and Line are as the fold has them: what the list shows may be a
	// question or what is wrong with the agent.
	Failed bool   `json:"failed,omitempty"`
	Line   string `json:"line,omitempty"`
	// Turns holds the turns of open tool calls and requests that are not of the
	// latest turn.
	Turns       map[string]int            `json:"turns,omitempty"`
	Settled     []event.PermissionOutcome `json:"settled,omitempty"`
	Rules       []Rule                    `json:"rules,omitempty"`
	Mode        *event.Mode               `json:"mode,omitempty"`
	Config      *event.Config             `json:"config,omitempty"`
	Commands    *event.Commands           `json:"commands,omitempty"`
	Usage       *event.Usage              `json:"usage,omitempty"`
	Agent       agentSettings             `json:"agent,omitzero"`
	Before      *agentSettings            `json:"before,omitempty"`
	MCPTools    []string                  `json:"mcp_tools,omitempty"`
	Title       string                    `json:"title,omitempty"`
	FirstPrompt string                    `json:"first_prompt,omitempty"`
}

// summarize writes the fold down for metadata.
func (f *fold) summarize(epoch string) (*store.Unfinished, json.RawMessage) {
	m := memory{
		Epoch: epoch, Given: f.given, Completed: f.completed, Ended: f.ended, Recorder: f.recorder, Failed: f.failed, Line: f.line.line(),
		Settled: f.permissions.settled, Rules: f.rules,
		Mode: f.mode, Config: f.config, Commands: f.commands, Usage: f.usage,
		Agent: f.agent, Before: f.before, MCPTools: f.mcpTools,
		Title: f.title, FirstPrompt: f.firstPrompt,
		Login: f.login, PromptSeq: f.promptSeq, Interruptions: f.interruptions,
	}
	open := &store.Unfinished{AtSeq: f.seq, Turn: f.turn, Permissions: f.permissions.ids()}
	if f.open {
		open.PromptID = f.promptID
	}
	turns := map[string]int{}
	for _, call := range f.tools.unfinished() {
		open.Tools = append(open.Tools, call.id)
		if call.turn != f.turn {
			turns[call.id] = call.turn
		}
	}
	for _, r := range f.permissions.open {
		if r.Turn != f.turn {
			turns[r.Request.PermissionID] = r.Turn
		}
	}
	if len(turns) > 0 {
		m.Turns = turns
	}
	data, err := json.Marshal(m)
	if err != nil { // raw JSON of an agent that is none; there is no shortcut then
		return open, nil
	}
	return open, data
}

// restore begins a fold from the metadata of the log with this epoch, which
// shows events up to visible. It returns an empty fold, so that everything is
// folded, where the metadata knows nothing or is of another history.
func restore(md store.Metadata, epoch string, visible event.Seq) (f fold, named bool) {
	var m memory
	if len(md.Options) == 0 || json.Unmarshal(md.Options, &m) != nil {
		return fold{}, false
	}
	if md.Open == nil || m.Epoch != epoch || md.Open.AtSeq > visible {
		return fold{}, m.Named
	}
	f = fold{
		seq: md.Open.AtSeq, turn: md.Open.Turn, promptID: md.Open.PromptID, open: md.Open.PromptID != "",
		given: m.Given, completed: m.Completed, ended: m.Ended, recorder: m.Recorder, failed: m.Failed, rules: m.Rules,
		mode: m.Mode, config: m.Config, commands: m.Commands, usage: m.Usage,
		agentSessionID: md.AgentSessionID, agent: m.Agent, before: m.Before, mcpTools: m.MCPTools,
		login: m.Login, promptSeq: m.PromptSeq, interruptions: m.Interruptions,
		title: m.Title, firstPrompt: m.FirstPrompt,
		line: lastLine{fixed: cmp.Or(m.Line, md.LastLine)},
	}
	turnOf := func(id string) int {
		if turn, other := m.Turns[id]; other {
			return turn
		}
		return f.turn
	}
	for _, id := range md.Open.Tools {
		f.tools.restore(id, turnOf(id))
	}
	f.permissions.settled = m.Settled
	for _, id := range md.Open.Permissions {
		f.permissions.ask(event.PermissionRequest{PermissionID: id}, turnOf(id), subject{lost: true})
	}
	return f, m.Named
}
