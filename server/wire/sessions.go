package wire

import (
	"encoding/json"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// SessionPage is a page of the session list, newest first.
type SessionPage struct {
	Sessions []SessionInfo `json:"sessions"`
	// NextCursor asks for the next page; it is absent on the last.
	NextCursor string `json:"next_cursor,omitempty"`
	// Total counts the sessions of all pages. It is on the first page only.
	Total int `json:"total,omitempty"`
}

// NewSession is the request for a new session. An empty agent or workspace means
// the hub's default.
type NewSession struct {
	// Machine is the id or the name of the machine that makes the session; absent for this
	// hub. The other fields are about that machine: its agents and folders.
	Machine string `json:"machine,omitempty"`
	Agent   string `json:"agent,omitempty"`
	// Workspace is the absolute path of a folder, or one below ~.
	Workspace string `json:"workspace,omitempty"`
	// Name has at most 200 printable characters.
	Name string `json:"name,omitempty"`
	// Prompt is sent at once. The request's Idempotency-Key is its id and makes a
	// repeated request harmless; with another body it is refused.
	Prompt string `json:"prompt,omitempty"`
	// Mode and Model are those that the agent is to begin with, instead of the
	// configured ones. If it does not take one, the first turn waits for a choice.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Options are more of them, strings and booleans by the ids of the agent's options.
	Options map[string]json.RawMessage `json:"options,omitempty"`
	// Recorder creates a session that the caller records. Then the agent may have
	// any name and the workspace may be any directory, there is no prompt, and the
	// response is a Recording.
	Recorder bool `json:"recorder,omitempty"`
	// Worktree makes a git worktree of the workspace's repository, in which the session
	// works.
	Worktree *NewWorktree `json:"worktree,omitempty"`
}

// NewWorktree describes a git worktree to be made, on a new branch. Absent fields are
// chosen.
type NewWorktree struct {
	// Branch is the new branch's name: abide/ and words of the prompt when absent.
	Branch string `json:"branch,omitempty"`
	// Base is the branch, tag or commit where it begins: the commit of the workspace when
	// absent.
	Base string `json:"base,omitempty"`
	// Folder is the absolute path of the new folder, in an allowed one: below the
	// configured folder for worktrees when absent.
	Folder string `json:"folder,omitempty"`
}

// UnmarshalJSON reads an object, or a text, which is the folder.
func (w *NewWorktree) UnmarshalJSON(data []byte) error {
	type object NewWorktree
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &w.Folder)
	}
	return json.Unmarshal(data, (*object)(w))
}

// SessionPatch changes the fields that are present.
type SessionPatch struct {
	Name     *string `json:"name,omitempty"`
	Pinned   *bool   `json:"pinned,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	// Tags replaces all tags: at most 20, each of 1 to 40 printable characters without a
	// comma. They are trimmed, and doubles are dropped.
	Tags *[]string `json:"tags,omitempty"`
	// Resumable says whether the session waits to be resumed. A pause or an interruption
	// stays as it is.
	Resumable *bool `json:"resumable,omitempty"`
}

// EndSession ends a session. The reason is optional.
type EndSession struct {
	Reason string `json:"reason,omitempty"`
	// Result is the session's result, any JSON of at most 64 KiB.
	Result json.RawMessage `json:"result,omitempty"`
	// DropQueue removes the waiting prompts first. Without it a waiting prompt is a
	// conflict.
	DropQueue bool `json:"drop_queue,omitempty"`
}

// NewFork names the event to continue from. Workspace and Agent default to those of
// the session.
type NewFork struct {
	Seq       event.Seq `json:"seq"`
	Workspace string    `json:"workspace,omitempty"`
	// Worktree makes a git worktree to work in. It begins at the commit that the
	// workspace was last seen at by then, unless it names a base. A text is its folder.
	Worktree *NewWorktree `json:"worktree,omitempty"`
	// Files puts the files of the worktree as they were before the prompt of that event's
	// turn (before), or at the end of the turn (end). Absent leaves those of the commit.
	Files string `json:"files,omitempty"`
	Agent string `json:"agent,omitempty"`
}

// Agents lists the agents and workspaces for a new session.
type Agents struct {
	Agents []AgentChoice `json:"agents"`
	// Workspaces are the directories in or under which sessions may run.
	Workspaces       []string `json:"workspaces"`
	DefaultWorkspace string   `json:"default_workspace"`
	// Auditors are the names of the auditors that a job in the folder of the request may ask
	// for; Auditor is the one that every job there has.
	Auditors []string `json:"auditors,omitempty"`
	Auditor  string   `json:"auditor,omitempty"`
	// Machines are those that allow sessions to be made on them from here.
	Machines []*state.Machine `json:"machines,omitempty"`
}

// AgentChoice is one configured agent.
type AgentChoice struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Modes and Models are those that the newest sessions of this agent offered; absent
	// if they offered none.
	Modes  []event.ModeOption `json:"modes,omitempty"`
	Models []event.ModeOption `json:"models,omitempty"`
	// Mode and Model are the configured ones; absent if the agent chooses.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
}

// Login names one of the methods in the state's agent.auth_methods.
type Login struct {
	MethodID string `json:"method_id"`
	// Command is that of the method as a person has seen it. A login in a terminal of the
	// hub runs no other.
	Command []string `json:"command,omitempty"`
}

// Recording is a new session that the caller records.
type Recording struct {
	SessionID string `json:"session_id"`
	Epoch     string `json:"epoch"`
	// RecorderID is the recorder's credential for this session.
	RecorderID string `json:"recorder_id"`
	// MaxSeq is the after_seq of the first batch.
	MaxSeq event.Seq `json:"max_seq"`
}

// RecordBatch is a batch of events after AfterSeq. An empty one says that the
// recorder is there.
type RecordBatch struct {
	RecorderID string     `json:"recorder_id"`
	AfterSeq   event.Seq  `json:"after_seq,omitempty"`
	Events     []Recorded `json:"events,omitempty"`
}

// Recorded is an event that a recorder reports.
type Recorded struct {
	Type event.Type      `json:"type"`
	Data json.RawMessage `json:"data"`
}

// RecordedTo has the last seq of the log after a batch.
type RecordedTo struct {
	MaxSeq event.Seq `json:"max_seq"`
}

// EndRecording ends a recording. The reason is optional.
type EndRecording struct {
	RecorderID string `json:"recorder_id"`
	Reason     string `json:"reason,omitempty"`
}
