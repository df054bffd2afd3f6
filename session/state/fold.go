package state

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// Fold is the state of a session computed from its log: the turn, the open calls and
// requests, the agent's last settings. The same code follows a live session and
// recovers one after a crash, so both have the same state. Only Apply and ApplyEvent
// change it, in the order of the log. It is not safe for concurrent use, but what Mode,
// Config, Commands, Usage and the slices hold is replaced and never changed, so readers
// may keep it. Line is an exception.
type Fold struct {
	// Seq is the last event applied.
	Seq event.Seq `json:"-"`

	// Turn is the latest turn; 0 before the first.
	Turn     int    `json:"turn,omitempty"`
	PromptID string `json:"prompt_id,omitempty"`
	// PromptSeq is the seq of the latest prompt.
	PromptSeq event.Seq `json:"prompt_seq,omitempty"`
	// Open means that the latest turn has no end.
	Open bool `json:"open,omitempty"`
	// Failed means that the latest turn ended with an error.
	Failed bool `json:"failed,omitempty"`
	// Login means that the latest turn ended because the agent requires a login.
	Login         bool          `json:"login,omitempty"`
	Interruptions Interruptions `json:"interruptions,omitzero"`
	Pauses        Pauses        `json:"pauses,omitzero"`
	// Given counts the turns given to agents. A new agent session after the first
	// turn has lost context.
	Given int `json:"given,omitempty"`
	// Completed is the latest turn with a complete answer.
	Completed int `json:"completed,omitempty"`

	Tools       ToolCalls   `json:"tools"`
	Permissions Permissions `json:"permissions"`
	// Rules are those of this session, oldest first.
	Rules []Rule `json:"rules,omitempty"`
	// Acts are the latest ones on the session's branch, oldest first.
	Acts []BranchAct `json:"acts,omitempty"`
	// Policy is recorded at the session's start; nil in older logs, where the hub's
	// configuration applies.
	Policy *event.Policy `json:"policy,omitempty"`

	// Mode, Config, Commands and Usage are the agent's last reports; nil before the
	// first.
	Mode     *event.Mode     `json:"mode,omitempty"`
	Config   *event.Config   `json:"config,omitempty"`
	Commands *event.Commands `json:"commands,omitempty"`
	Usage    *event.Usage    `json:"usage,omitempty"`

	// AgentSessionID is the agent's own id of its session; empty if it has none that
	// can be continued.
	AgentSessionID string `json:"agent_session_id,omitempty"`
	// Untold means that the agent's session is new and got no prompt: it knows nothing of
	// the turns before, and another start must tell them.
	Untold bool `json:"untold,omitempty"`
	// Agent has the agent's settings without mode and options, which are above.
	Agent AgentSettings `json:"agent,omitzero"`
	// Before has the settings that the present agent is to have until it gets a prompt:
	// those of the previous agent, or those that the session begins with.
	Before *AgentSettings `json:"before,omitempty"`
	// MCPTools are the tools of MCP servers that were used.
	MCPTools []string `json:"mcp_tools,omitempty"`
	// Setup is about the set-up of the session's working copy.
	Setup Setup `json:"setup,omitzero"`
	// HalfTold means that the agent's session got only a part of the segments, so
	// it cannot be used.
	HalfTold bool     `json:"half_told,omitempty"`
	Ended    bool     `json:"ended,omitempty"`
	Recorder Recorder `json:"recorder,omitzero"`
	Undos    Undos    `json:"undos,omitzero"`
	// Job is how far the job is; nil if the session is none.
	Job *Job `json:"job,omitempty"`
	// Reports are the ids of jobs that this session delegated and whose ends were told.
	Reports []string `json:"reports,omitempty"`
	// Title is the agent's, FirstPrompt one made from the first prompt.
	Title       string `json:"title,omitempty"`
	FirstPrompt string `json:"first_prompt,omitempty"`
	// Task says what the work since the latest commit is, for its message.
	Task Task     `json:"task,omitzero"`
	Plan Plan     `json:"plan,omitzero"`
	Line LastLine `json:"line"`

	// Changed is set when a field other than Seq and Line changes. The reader resets
	// it.
	Changed bool `json:"-"`
}

// TurnOf returns the turn to which an event of the agent belongs: that of its tool
// call if it has one, else the latest.
func (f *Fold) TurnOf(p event.Payload) int { return f.Tools.turnOf(p, f.Turn, f.Open) }

// ApplyEvent applies one event of the log. An event that cannot be decoded is
// skipped.
func (f *Fold) ApplyEvent(e event.Event) {
	if !Uses(e.Type) {
		f.Seq = e.Seq
		return
	}
	p, err := e.Payload()
	if err != nil {
		f.Seq = e.Seq
		return
	}
	f.Apply(e.Seq, e.Time, e.Turn, p)
}

// Uses reports whether Apply uses events of a type. The others, the bulk of a log, need
// not be decoded.
func Uses(t event.Type) bool {
	switch t {
	case event.TypeAgentThought, event.TypeFileRead, event.TypeFileWrite,
		event.TypeAgentStalled, event.TypeTerminalOutput, event.TypeCorrupt, event.TypeWorkspaceSeen:
		return false
	}
	return true
}

// Apply applies the event that follows Seq. at is its time in the log.
func (f *Fold) Apply(seq event.Seq, at time.Time, turn int, p event.Payload) {
	f.Seq = seq
	switch p := p.(type) {
	case event.AgentMessage:
		f.Line.chunk(p.MessageID, p.Text)
	case event.ToolCall:
		f.Tools.see(seq, turn, p.ToolCallFields)
		f.usedTool(p.Title)
	case event.ToolCallUpdate:
		f.Tools.see(seq, turn, p.ToolCallFields)
	case event.Error:
		f.Line.fail(p.Message)
	default:
		f.Changed = f.applyTurn(seq, at, turn, p) || f.applyAgent(p) || f.Changed
	}
	if f.Job != nil {
		f.Job.apply(at, p, &f.Tools)
	}
}

// applyTurn applies events of turns and requests.
func (f *Fold) applyTurn(seq event.Seq, at time.Time, turn int, p event.Payload) bool {
	f.Pauses.apply(at, p)
	f.Plan.Apply(p)
	switch p := p.(type) {
	case event.SessionStart:
		f.Policy, f.Before = p.Policy, wantedOf(p.Settings)
		f.Setup.Due = p.Worktree != nil && p.Worktree.Setup
		f.job(p.Job)
	case event.SegmentStart: // the first one that is kept, perhaps
		f.Policy = cmp.Or(p.Policy, f.Policy)
		f.job(p.Job)
	case event.SessionPaused, event.SessionResumable, event.Plan:
	case event.SessionResumed:
		if p.Way == event.WayLocal || p.Way == event.WaySegmented {
			f.AgentSessionID = "" // a new agent session is begun
		}
	case event.UserPrompt:
		f.Turn, f.PromptID, f.Open = max(turn, f.Turn), p.PromptID, true
		f.Failed, f.Login, f.Ended, f.PromptSeq = false, false, false, seq
		f.Interruptions.prompted(at, p)
		f.Undos.prompted()
		f.Task.prompted(string(p.Text))
		f.FirstPrompt = cmp.Or(f.FirstPrompt, FirstSentence(string(p.Text)))
		f.Line.say(p.Text)
	case event.TurnStart:
		f.Given++
		f.Before, f.HalfTold, f.Untold = nil, false, false
	case event.TurnInterrupted:
		f.Interruptions.open(seq, at, p)
	case event.InterruptionSettled:
		f.Interruptions.settle(at, p)
	case event.TurnEnd:
		f.Interruptions.ended(p.StopReason)
		if p.StopReason == event.StopEndTurn {
			f.Completed = f.Turn
		}
		if f.HalfTold {
			f.AgentSessionID, f.HalfTold = "", false
		}
		f.Open, f.Login = false, p.Error != nil && p.Error.Code == CodeAuthRequired
		// A turn that was cancelled, or that ended with the hub, has not failed.
		if f.Failed = p.Error != nil && (p.StopReason == event.StopInterrupted || p.StopReason == event.StopAgentExit); f.Failed {
			f.Line.fail(p.Error.Message)
		}
	case event.PermissionRequest:
		fields := fieldsAsked(p.ToolCall)
		fields.ToolCallID = p.ToolCallID
		f.Tools.see(seq, turn, fields)
		f.Permissions.ask(p, turn, f.SubjectOf(p))
	case event.PermissionOutcome:
		f.Permissions.settle(p)
	case event.Note:
		return f.applyStatement(p)
	case event.SessionEnd:
		f.Ended, f.Recorder.Open = true, false
	default:
		return false
	}
	return true
}

// job takes what the job was given, once.
func (f *Fold) job(given *event.Job) {
	if given != nil && f.Job == nil {
		f.Job = &Job{Given: *given}
	}
}

// ForkNote is the raw value of the note at the beginning of a fork.
type ForkNote struct {
	event.Forked
	// AgentSessionID is the agent's id of its own copy of the original; empty if it made
	// none.
	AgentSessionID string `json:"agent_session_id,omitempty"`
}

// Statements are the methods of the notes that change a session's state. Only the hub
// makes such a note: a method is not in this list by accident.
func Statements() []string {
	return []string{NoteRuleAdded, NoteRuleRevoked, NoteRecording, NoteSetup, NoteBranch, NoteJob, NoteCheckpoint, NoteJobAnswer, NoteJobVerdict, NoteJobResult, transcript.NoteForked, transcript.NoteSegment, transcript.NoteUndo}
}

// applyStatement applies a statement of the hub. The same note from an agent, a
// recorder or an import changes nothing.
func (f *Fold) applyStatement(n event.Note) bool {
	if !slices.Contains(Statements(), n.Statement()) {
		return false
	}
	f.HalfTold = f.HalfTold || n.Method == transcript.NoteSegment
	if rules, is := applyRule(f.Rules, n); is {
		f.Rules = rules
		return true
	}
	if u := transcript.UndoOf(n); u != nil {
		f.AgentSessionID = f.Undos.apply(*u, f.AgentSessionID)
		return true
	}
	if n.Method == NoteJob || n.Method == NoteCheckpoint || n.Method == NoteJobAnswer || n.Method == NoteJobVerdict {
		return f.Job != nil // which applies it itself
	}
	if n.Method == NoteJobResult {
		f.Reports = applyReport(f.Reports, n)
		return true
	}
	if n.Method == NoteBranch {
		f.Acts = applyAct(f.Acts, n)
		f.Task.acted(f.Acts)
		return true
	}
	if n.Method == transcript.NoteForked {
		f.Given++ // its agent has earlier context
		var of ForkNote
		if json.Unmarshal(n.Raw, &of) == nil {
			f.AgentSessionID = of.AgentSessionID
		}
		return true
	}
	return f.Setup.apply(n) || f.Recorder.apply(n)
}

// applyAgent applies events about the agent.
func (f *Fold) applyAgent(p event.Payload) bool {
	switch p := p.(type) {
	case event.AgentStarted:
		f.Login = false
		f.startedWith(p)
		f.AgentSessionID = p.AgentSessionID
		f.Untold = f.Untold && p.Resumed != "" || p.Resumed == "" && f.Given > 0
		if p.Resumed == "" {
			f.Tools = ToolCalls{Delegating: f.Tools.Delegating} // a new agent session starts new call ids
		}
	case event.Mode:
		if p.Modes == nil && f.Mode != nil { // only the first mode event lists the modes
			p.Modes = f.Mode.Modes
		}
		p.Raw = nil
		f.Mode = &p
		f.modeTold(p)
	case event.Config:
		was := f.Settings()
		f.Config = &p
		f.Mode = transcript.ModeIn(p.Options, f.Mode)
		if p.By != "" && p.By != ByHub {
			f.chose(was)
		}
	case event.Commands:
		p.Raw = nil
		f.Commands = &p
	case event.Usage:
		p.Raw = nil
		f.Usage = &p
	case event.Title:
		f.Title = AgentTitle(p.Title)
	default:
		return false
	}
	return true
}

// Remembered is the agent's own id of its session if that knows the earlier turns, so
// that continuing it loses nothing; else empty.
func (f *Fold) Remembered() string {
	if f.Untold {
		return ""
	}
	return f.AgentSessionID
}

// Name is the session's name unless a person named it.
func (f *Fold) Name() string {
	if f.Title != "" {
		return f.Title
	}
	return f.FirstPrompt
}

// SubjectOf returns the subject of a request, as far as known.
func (f *Fold) SubjectOf(p event.PermissionRequest) Subject {
	s := f.Tools.said(p.ToolCallID).upsert(fieldsAsked(p.ToolCall))
	if s.Title == "" {
		s.Title = p.Title
	}
	return s
}

// Settings returns the agent's present settings.
func (f *Fold) Settings() AgentSettings {
	s := f.Agent
	if f.Mode != nil {
		s.Mode = f.Mode.ModeID
	}
	if f.Config != nil {
		s.Options = OptionsOf(f.Config.Options)
	}
	return s
}

// modeTold lets the option of category mode say the same mode. A person's choice is
// what the agent is to have from now on.
func (f *Fold) modeTold(m event.Mode) {
	if f.Config != nil {
		config := *f.Config
		config.Options = transcript.OptionsIn(m.ModeID, config.Options)
		f.Config = &config
	}
	if f.Before != nil && m.By != "" && m.By != ByHub {
		before := *f.Before
		before.Mode = m.ModeID
		f.Before = &before
	}
}

// chose takes the settings that a person changed since was as those that the agent is
// to have.
func (f *Fold) chose(was AgentSettings) {
	if f.Before == nil {
		return
	}
	before := *f.Before
	before.Options = slices.Clone(before.Options)
	for _, now := range f.Settings().List() {
		if old, had := was.Find(now); had && old.Value == now.Value {
			continue
		}
		if now.Field == FieldMode {
			before.Mode = now.Value
		}
		if now.Option != nil {
			before.Options = slices.DeleteFunc(before.Options, func(o AgentOption) bool {
				return o.ID == now.Option.ID || o.ID == "" && o.Category == now.Option.Category
			})
			before.Options = append(before.Options, *now.Option)
			before = before.values()
		}
	}
	f.Before = &before
}

// startedWith handles the start of an agent. The settings of the previous agent are
// kept until the new one gets a prompt: by then the drift is decided.
func (f *Fold) startedWith(p event.AgentStarted) {
	if f.Before == nil && (f.Agent.Name+f.Agent.Version != "" || f.Agent.MCPKnown) {
		before := f.Settings().values()
		f.Before = &before
	}
	f.Agent = AgentSettings{Name: p.Name, Version: p.Version}
	if s := p.Settings; s != nil {
		f.Agent.MCPServers, f.Agent.MCPKnown, f.Agent.Command = s.MCPServers, true, s.Command
	}
}

// usedToolsKept limits the names of MCP tools that are remembered.
const usedToolsKept = 100

// usedTool remembers an MCP tool that a call's title names.
func (f *Fold) usedTool(title string) {
	if len(f.Agent.MCPServers) == 0 {
		return
	}
	title = Cut(OneLine(title), LineRunes)
	if len(f.MCPTools) >= usedToolsKept || slices.Contains(f.MCPTools, title) {
		return
	}
	if slices.ContainsFunc(f.Agent.MCPServers, func(server string) bool { return OfServer(title, server) }) {
		f.MCPTools = append(slices.Clone(f.MCPTools), title)
	}
}
