package event

import (
	"encoding/json"
	"strings"
	"time"
)

// Text is text that may be large. On disk a value over 256 KiB is replaced by a
// BlobRef object. Decoding that returns the head of the text, and the event's Data
// still has the reference.
type Text string

// UnmarshalJSON reads a string or a BlobRef.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var ref BlobRef
		if err := json.Unmarshal(data, &ref); err != nil {
			return err
		}
		*t = Text(ref.Head)
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// Git is the state of a workspace's repository.
type Git struct {
	Commit string `json:"commit,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Dirty was recorded before November 23, 2026.
	Dirty bool `json:"dirty,omitempty"`
}

// SessionStart is the first line of every log.
type SessionStart struct {
	// Format is the version of the log's format, now 1.
	Format    int    `json:"format"`
	SessionID string `json:"session_id"`
	// Epoch is the identity of the log: 16 hex digits, a string everywhere.
	Epoch string `json:"epoch"`
	// Agent is the configured agent's name.
	Agent string `json:"agent"`
	// Workspace is the absolute directory the agent works in.
	Workspace string `json:"workspace"`
	// ProjectRoot is the nearest directory upwards with .git or AGENTS.md.
	ProjectRoot string `json:"project_root,omitempty"`
	Git         *Git   `json:"git,omitempty"`
	CreatedBy   string `json:"created_by,omitempty"`
	CreatedByID string `json:"created_by_id,omitempty"`
	// RequestKey is the client's id of the request that created the session.
	// Repeating it creates no second session.
	RequestKey string `json:"request_key,omitempty"`
	// RequestHash identifies the content of that request. Another request with the
	// key is refused.
	RequestHash string `json:"request_hash,omitempty"`
	// Settings are those known before an agent runs: its MCP servers and rules.
	Settings *AgentSettings `json:"settings,omitempty"`
	// Policy decides about the session's permission requests. Older logs have none:
	// the hub's configuration applies.
	Policy *Policy `json:"policy,omitempty"`
	// ForkedFrom is set in a fork. Older forks have it in their metadata only.
	ForkedFrom *Forked `json:"forked_from,omitempty"`
	// Adopted is set in a session that the agent had before. The events up to the note
	// abide/adopted are the past as the agent told it.
	Adopted *Adopted `json:"adopted,omitempty"`
	// Worktree is set if the workspace is in a git worktree that abide made.
	Worktree *Worktree `json:"worktree,omitempty"`
	// Job is set if the session is a job.
	Job *Job `json:"job,omitempty"`
}

// Worktree is a session's own copy of a repository: a git worktree.
type Worktree struct {
	// Folder is the worktree. The workspace is this folder, or one below it.
	Folder string `json:"folder"`
	// Branch was made with it; empty in a fork of an older hub.
	Branch string `json:"branch,omitempty"`
	// Base is the branch that it comes from; empty if it comes from a commit.
	Base string `json:"base,omitempty"`
	// Commit is where the branch begins.
	Commit string `json:"commit"`
	// Of is the folder that the workspace is a copy of.
	Of string `json:"of"`
	// Setup means that the project's set-up command runs before the agent starts first.
	Setup bool `json:"setup,omitempty"`
}

// Adopted names the session of the agent that a session continues.
type Adopted struct {
	AgentSessionID string `json:"agent_session_id"`
}

// Forked names the other session of a fork, and the event where they part.
type Forked struct {
	SessionID string `json:"session_id"`
	Seq       Seq    `json:"seq"`
}

// Policy decides about the permission requests of a session while no person watches
// it. It never allows a request.
type Policy struct {
	// Unattended is what happens to such a request. A value outside the set is
	// UnattendedWait.
	Unattended Unattended `json:"unattended"`
	// WaitLimitMS is how long such a request waits before it is rejected, in
	// milliseconds; 0 means forever.
	WaitLimitMS int64 `json:"wait_limit_ms,omitempty"`
	// Configured means that the session follows the hub's configuration: the values
	// are those of its start, and those of now decide.
	Configured bool `json:"configured,omitempty"`
}

// SessionEnd means that the work of a session is done. A later prompt makes the
// session active again.
type SessionEnd struct {
	Reason string `json:"reason"`
	// By is the actor that ended it; empty in older logs. ByID is, here as
	// elsewhere, the id of the actor's credential; older logs have none.
	By   string `json:"by,omitempty"`
	ByID string `json:"by_id,omitempty"`
	// Result is the session's result, for a program that asked for it.
	Result json.RawMessage `json:"result,omitempty"`
}

// UserPrompt is a person's prompt. It opens a turn.
type UserPrompt struct {
	// PromptID is the client's id; it makes a resend harmless.
	PromptID    string       `json:"prompt_id"`
	Text        Text         `json:"text"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Actor       string       `json:"actor,omitempty"`
	ByID        string       `json:"by_id,omitempty"`
	// QueuedAt is set when the prompt waited in the queue.
	QueuedAt *time.Time `json:"queued_at,omitempty"`
	// OriginalHash is the hash of the first payload, as package queue computes it.
	// It is set if the prompt waited: the prompt may have been edited since, and a
	// resend is compared with the original.
	OriginalHash string `json:"original_hash,omitempty"`
	// Author and AuthorID wrote a queued prompt first, if the actor changed its text.
	Author   string `json:"author,omitempty"`
	AuthorID string `json:"author_id,omitempty"`
}

// TurnStart means that the agent got the prompt.
type TurnStart struct {
	PromptID string `json:"prompt_id"`
	// Files is the state of the workspace's files before the prompt, as the commit that
	// holds them. Older turns have none.
	Files string `json:"files,omitempty"`
	// NoUndo is why the files were not kept.
	NoUndo string `json:"no_undo,omitempty"`
}

// TurnEnd settles a turn. Every turn has exactly one.
type TurnEnd struct {
	PromptID   string     `json:"prompt_id"`
	StopReason StopReason `json:"stop_reason"`
	// By is the actor that cancelled the turn or ended it by force. It is empty for
	// other turns, and in older logs.
	By   string `json:"by,omitempty"`
	ByID string `json:"by_id,omitempty"`
	// Usage is the agent's own report about the turn.
	Usage json.RawMessage `json:"usage,omitempty"`
	Error *Failure        `json:"error,omitempty"`
	Raw   json.RawMessage `json:"raw,omitempty"`
}

// TurnInterrupted means that a turn was interrupted, not ended by the agent or a
// person. It immediately precedes the turn_end of its turn.
type TurnInterrupted struct {
	// InterruptionID is assigned by the hub and unique in the session.
	InterruptionID string          `json:"interruption_id"`
	Turn           int             `json:"turn"`
	PromptID       string          `json:"prompt_id"`
	Reason         InterruptReason `json:"reason"`
	Phase          TurnPhase       `json:"phase"`
	// Checkpoint is the range of events from which the state of the turn is
	// computed.
	Checkpoint Checkpoint `json:"checkpoint"`
	// LastAt is the time of the turn's last event, where the hub was away since: its age
	// counts from there. It is absent otherwise, and in older logs.
	LastAt *time.Time `json:"last_at,omitempty"`
}

// Checkpoint is a range of a log: the events of one turn.
type Checkpoint struct {
	FromSeq Seq `json:"from_seq"`
	ToSeq   Seq `json:"to_seq"`
}

// InterruptionSettled is the outcome of an interruption. Every interruption has at
// most one; a prompt in the log settles it as well.
type InterruptionSettled struct {
	InterruptionID string    `json:"interruption_id"`
	Outcome        SettledAs `json:"outcome"`
	// Way is how the agent got the earlier context; set when Outcome is resumed.
	Way ResumeWay `json:"way,omitempty"`
	// PromptID is the prompt that resumed or superseded the turn.
	PromptID string `json:"prompt_id,omitempty"`
	// By names the actor, or "hub".
	By   string `json:"by"`
	ByID string `json:"by_id,omitempty"`
}

// SessionPaused pauses the session: its agent is stopped, an open turn ends as interrupted
// (person_paused), and its queue is held. SessionResumed, the next prompt, the settlement
// of its interruption, or its end ends the pause.
type SessionPaused struct {
	By   string `json:"by"`
	ByID string `json:"by_id,omitempty"`
}

// SessionResumed brings the agent back without a prompt.
type SessionResumed struct {
	// Way is how the agent gets the earlier context; empty if nobody chose one.
	Way  ResumeWay `json:"way,omitempty"`
	By   string    `json:"by"`
	ByID string    `json:"by_id,omitempty"`
}

// SessionResumable marks a session as one that waits to be resumed, or takes that mark away.
// It changes nothing else: a pause or an interruption stays.
type SessionResumable struct {
	Resumable bool   `json:"resumable"`
	By        string `json:"by"`
	ByID      string `json:"by_id,omitempty"`
}

// WorkspaceSeen is the state of the workspace when a turn began or after its tools
// ended. The resume of an interrupted turn compares it with the present state.
type WorkspaceSeen struct {
	// Folder is the folder's device and inode, which differ for another folder at
	// the same path.
	Folder string `json:"folder"`
	// Root is the repository's first commit and Remote its remote, without user and
	// password. Both are empty if git does not report them.
	Root   string `json:"root,omitempty"`
	Remote string `json:"remote,omitempty"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Repository means that there is one.
	Repository bool `json:"repository,omitempty"`
	// Changed lists changed files with git's two letters, at most 50. More counts
	// the others.
	Changed []string `json:"changed,omitempty"`
	More    int      `json:"more,omitempty"`
}

// Failure describes a failure for a person.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// AgentMessage is one chunk of the agent's answer. Chunks with one MessageID
// join in seq order.
type AgentMessage struct {
	MessageID string `json:"message_id"`
	Text      Text   `json:"text,omitempty"`
	// Content is the agent's content block if it is not text.
	Content json.RawMessage `json:"content,omitempty"`
	Raw     json.RawMessage `json:"raw,omitempty"`
}

// AgentThought is one chunk of the agent's reasoning. Chunks join like those of
// AgentMessage.
type AgentThought struct {
	MessageID string          `json:"message_id"`
	Text      Text            `json:"text,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
}

// Location is a place in a file that a tool call touches.
type Location struct {
	Path string `json:"path"`
	Line *int   `json:"line,omitempty"`
}

// ToolCallFields are the fields that a tool call and its updates share. An absent
// field is unchanged; content and locations replace the earlier ones.
type ToolCallFields struct {
	ToolCallID string     `json:"tool_call_id"`
	Title      string     `json:"title,omitempty"`
	Kind       ToolKind   `json:"kind,omitempty"`
	Status     ToolStatus `json:"status,omitempty"`
	// Content is the agent's array of ACP tool call content: content, diff and
	// terminal entries.
	Content json.RawMessage `json:"content,omitempty"`
	// ContentCut is how many characters are cut from the end of the last text of the
	// content, and ContentAdded continues it then, as in Whole. The agent sent the whole
	// content again, which began with the former one, but for these characters.
	ContentCut   int             `json:"content_cut,omitempty"`
	ContentAdded Text            `json:"content_added,omitempty"`
	Locations    []Location      `json:"locations,omitempty"`
	RawInput     json.RawMessage `json:"raw_input,omitempty"`
	RawOutput    json.RawMessage `json:"raw_output,omitempty"`
	// OutputGrown continues a text of the raw output in the same way.
	OutputGrown *Grown `json:"output_grown,omitempty"`
	// Synthetic marks an entry that the hub wrote for the agent, such as the
	// failure of a call that a crash interrupted.
	Synthetic bool            `json:"synthetic,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
}

// MetaGrown is the only member of a _meta in raw that stands for what became of the JSON
// text of the call's former _meta, a Grown.
const MetaGrown = "abide/grown"

// Grown is what became of a text: of a member of an object, or of the value itself if no
// member is named.
type Grown struct {
	Added  string `json:"added"`
	Member string `json:"member,omitempty"`
	// Cut is how many characters are cut from its end before Added continues it.
	Cut int `json:"cut,omitempty"`
}

// ToolCall is an action of the agent. It is an upsert by ToolCallID.
type ToolCall struct{ ToolCallFields }

// ToolCallUpdate changes a tool call. It is an upsert by ToolCallID as well: agents
// send updates for calls that they never announced.
type ToolCallUpdate struct{ ToolCallFields }

// PlanEntry is one step of a plan.
type PlanEntry struct {
	Content  string       `json:"content"`
	Priority PlanPriority `json:"priority"`
	Status   PlanStatus   `json:"status"`
}

// Plan is the agent's whole plan; it replaces the one before.
type Plan struct {
	Entries []PlanEntry     `json:"entries"`
	Raw     json.RawMessage `json:"raw,omitempty"`
}

// PermissionOption is one answer the agent offers. OptionIDs are not stable
// words and one kind may occur twice: answer by OptionID, show Name.
type PermissionOption struct {
	OptionID string         `json:"option_id"`
	Name     string         `json:"name"`
	Kind     PermissionKind `json:"kind"`
}

// PermissionRequest is a permission request of the agent.
type PermissionRequest struct {
	// PermissionID is assigned by the hub and unique in the session.
	PermissionID string             `json:"permission_id"`
	ToolCallID   string             `json:"tool_call_id,omitempty"`
	Title        string             `json:"title"`
	Options      []PermissionOption `json:"options"`
	// ToolCall is the tool call in question, in the agent's own JSON.
	ToolCall json.RawMessage `json:"tool_call,omitempty"`
	// Form is set if the agent asks for values: the JSON schema of a flat object.
	// The outcome's Content has the values. Its options are "accept" and "decline".
	Form json.RawMessage `json:"form,omitempty"`
	// URL is set if the agent asks a person to visit a page instead.
	URL string          `json:"url,omitempty"`
	Raw json.RawMessage `json:"raw,omitempty"`
}

// PermissionOutcome settles a permission request. The first one counts; every
// request has exactly one.
type PermissionOutcome struct {
	PermissionID string  `json:"permission_id"`
	Outcome      Outcome `json:"outcome"`
	OptionID     string  `json:"option_id,omitempty"`
	// Content is the filled-in form, if the request has one.
	Content json.RawMessage `json:"content,omitempty"`
	// By names the actor that answered, or "hub".
	By     string `json:"by"`
	ByID   string `json:"by_id,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// FileRead is a file the hub read for the agent.
type FileRead struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Lines int    `json:"lines,omitempty"`
}

// FileWrite is a file the hub wrote for the agent.
type FileWrite struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Lines int    `json:"lines,omitempty"`
	// SHA256 is the hash of what was written, 64 hex digits. Older logs have none.
	SHA256 string `json:"sha256,omitempty"`
}

// ModeOption is one way of working the agent offers.
type ModeOption struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Mode is the agent's current mode and, when the agent said so, all modes.
type Mode struct {
	ModeID string       `json:"mode_id"`
	Modes  []ModeOption `json:"modes,omitempty"`
	// By is the actor that chose it; empty where the agent did, and in older logs.
	By   string          `json:"by,omitempty"`
	ByID string          `json:"by_id,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Config is the agent's current set of options, whole, in its own JSON: an
// array of ACP session config options.
type Config struct {
	Options json.RawMessage `json:"options"`
	// By is the actor that chose an option; empty where the agent did, and in older
	// logs.
	By   string          `json:"by,omitempty"`
	ByID string          `json:"by_id,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Command is a slash command the agent offers.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Hint describes the text to type after the name.
	Hint string `json:"hint,omitempty"`
}

// Commands is the agent's whole list of slash commands.
type Commands struct {
	Commands []Command       `json:"commands"`
	Raw      json.RawMessage `json:"raw,omitempty"`
}

// Cost is money, in the currency the agent names (ISO 4217).
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Counts reports whether the cost can be added to others: an amount from 0 to MostCost in a
// currency of three capital letters. nil does not count.
func (c *Cost) Counts() bool {
	return c != nil && c.Amount >= 0 && c.Amount <= MostCost && len(c.Currency) == 3 &&
		strings.Trim(c.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Usage is how full the agent's context is, in tokens.
type Usage struct {
	Used int64           `json:"used"`
	Size int64           `json:"size"`
	Cost *Cost           `json:"cost,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Context is the number of tokens in the agent's context, 0 where that cannot be.
func (u Usage) Context() int64 {
	if u.Used < 0 || u.Used > MostTokens {
		return 0
	}
	return u.Used
}

// Title is the session's title as the agent gave it.
type Title struct {
	Title string          `json:"title"`
	Raw   json.RawMessage `json:"raw,omitempty"`
}

// AgentStarted says an agent process is ready for prompts.
type AgentStarted struct {
	// Agent is the configured agent's name.
	Agent string `json:"agent"`
	PID   int    `json:"pid"`
	// Name and Version are the agent's own.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// AgentSessionID is the agent's own id of the session.
	AgentSessionID string `json:"agent_session_id,omitempty"`
	// Resumed says how the agent got its memory back; empty for a new one.
	Resumed Resumption `json:"resumed,omitempty"`
	// ContextLost is set when earlier turns exist that this agent knows
	// nothing of.
	ContextLost bool `json:"context_lost,omitempty"`
	// Settings are the ones it starts with. They are compared with those of the
	// next start.
	Settings *AgentSettings `json:"settings,omitempty"`
	// Raw holds the answers to initialize and session/new.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// AgentSettings are an agent's settings when it starts.
type AgentSettings struct {
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Options are the values of the agent's options by their ids.
	Options map[string]json.RawMessage `json:"options,omitempty"`
	// MCPServers are the names of those that the hub gives the agent.
	MCPServers []string `json:"mcp_servers"`
	// Rules are the ids of the permission rules in force.
	Rules []string `json:"rules"`
	// Command is a digest of the agent's configured command.
	Command string `json:"command,omitempty"`
}

// AgentExit says the agent process is gone.
type AgentExit struct {
	Code       *int   `json:"code,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Reason     string `json:"reason"`
	StderrTail string `json:"stderr_tail,omitempty"`
}

// Cause says for a person why the agent is gone; for most reasons it is the reason.
func (e AgentExit) Cause() string {
	switch e.Reason {
	case "stdin_closed":
		return "it closed its standard input"
	case "stdout_closed":
		return "it closed its standard output"
	case "stdin_stuck":
		return "it stopped reading its standard input"
	case "folder_gone":
		return "its folder does not exist"
	}
	return e.Reason
}

// AgentStalled says the agent has been silent in the middle of a turn.
type AgentStalled struct {
	SilentMS int64 `json:"silent_ms"`
}

// TerminalOutput is output of a terminal, in the order it came.
type TerminalOutput struct {
	TerminalID string `json:"terminal_id"`
	// ToolCallID is the call the terminal belongs to, where the agent said so.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Data       Text   `json:"data"`
	// Exit is set on the last one.
	Exit *TerminalExit `json:"exit,omitempty"`
}

// TerminalExit is how a terminal's command ended.
type TerminalExit struct {
	Code   *int   `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// CodeForbidden is the code of an Error about what the hub refused to do for the agent.
const CodeForbidden = "forbidden"

// Error is a failure a person should see in the session.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
}

// Note is anything the hub does not understand, kept whole, and the hub's own
// statements (method "abide/…" without From). Only these change a session's state.
type Note struct {
	Method string `json:"method"`
	// From says who used a method of the hub's own, if it was not the hub: "agent",
	// "recorder" or "import". It is set where events enter a log.
	From string          `json:"from,omitempty"`
	Text Text            `json:"text,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
	// By is the actor, where the note is about a person's action.
	By   string `json:"by,omitempty"`
	ByID string `json:"by_id,omitempty"`
}

// Epoch gives the log a new identity; the last one in the log counts.
type Epoch struct {
	Epoch  string `json:"epoch"`
	Reason string `json:"reason"`
}

// LogTruncated says that events From..To were acknowledged once and are lost.
type LogTruncated struct {
	From Seq `json:"from"`
	To   Seq `json:"to"`
}

// SegmentStart is the first line of every segment but the first.
type SegmentStart struct {
	Format    int    `json:"format"`
	SessionID string `json:"session_id"`
	Epoch     string `json:"epoch"`
	FirstSeq  Seq    `json:"first_seq"`
	// Prev is the checksum of the line before FirstSeq, 8 hex digits. It chains the
	// files. Older logs have none.
	Prev string `json:"prev,omitempty"`
	Made
}

// Made is the origin of the session: session_start has it, and each segment after
// it again, because retention removes the first. Older logs lack it.
type Made struct {
	Agent       string     `json:"agent,omitempty"`
	Workspace   string     `json:"workspace,omitempty"`
	ProjectRoot string     `json:"project_root,omitempty"`
	CreatedBy   string     `json:"created_by,omitempty"`
	CreatedByID string     `json:"created_by_id,omitempty"`
	RequestKey  string     `json:"request_key,omitempty"`
	RequestHash string     `json:"request_hash,omitempty"`
	CreatedAt   *time.Time `json:"created_at,omitempty"`
	Policy      *Policy    `json:"policy,omitempty"`
	ForkedFrom  *Forked    `json:"forked_from,omitempty"`
	Adopted     *Adopted   `json:"adopted,omitempty"`
	Worktree    *Worktree  `json:"worktree,omitempty"`
	Job         *Job       `json:"job,omitempty"`
}

// Corrupt stands for an event that cannot be read; it is made while reading
// and never written.
type Corrupt struct {
	Reason string `json:"reason"`
}

// BlobRef stands in a payload for a value over 256 KiB.
type BlobRef struct {
	Blob Blob `json:"blob"`
	// Head is the value's first 4 KiB as text.
	Head string `json:"head"`
}

// Blob names a file under the session's blobs folder.
type Blob struct {
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	MediaType string `json:"media_type"`
}
