package state

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Info is one line of the session list.
type Info struct {
	SessionID   string    `json:"session_id"`
	Name        string    `json:"name"`
	Agent       string    `json:"agent"`
	Workspace   string    `json:"workspace"`
	ProjectRoot string    `json:"project_root,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	// UpdatedAt is the time of the newest event.
	UpdatedAt time.Time `json:"updated_at"`
	Status    Status    `json:"status"`
	// Lifecycle is how far the session is. It follows from the status, age and workspace.
	Lifecycle  Lifecycle `json:"lifecycle"`
	EventCount int64     `json:"event_count"`
	MinSeq     event.Seq `json:"min_seq"`
	MaxSeq     event.Seq `json:"max_seq"`
	Epoch      string    `json:"epoch"`
	Archived   bool      `json:"archived"`
	Pinned     bool      `json:"pinned"`
	// Tags are a person's words for lists, in the order given.
	Tags []string `json:"tags,omitempty"`
	// Imported sessions come from another hub and are read-only.
	Imported bool `json:"imported,omitempty"`
	// ForkedFrom is the place in another session that this one was forked from, and
	// Forks are the sessions forked from this one.
	ForkedFrom *event.Forked  `json:"forked_from,omitempty"`
	Forks      []event.Forked `json:"forks,omitempty"`
	// Adopted is set if the agent had the session before.
	Adopted *event.Adopted `json:"adopted,omitempty"`
	// Worktree is the session's own copy of a repository; nil if it has none.
	Worktree *event.Worktree `json:"worktree,omitempty"`
	// Job is how far the job is; nil if the session is none.
	Job *event.JobLine `json:"job,omitempty"`
	// LastLine is the open request if the session needs a person, the problem if it
	// failed, else the last line of the newest message.
	LastLine string `json:"last_line,omitempty"`
	// Resumable means that the session waits to be resumed: after a pause, an interruption
	// or a person's mark.
	Resumable bool `json:"resumable,omitempty"`
	// ResumeCount counts the resumes. LastResumedAt is the time of the last one; nil before it.
	ResumeCount   int        `json:"resume_count,omitempty"`
	LastResumedAt *time.Time `json:"last_resumed_at,omitempty"`
	// AgentSessionID is the agent's own id of the session.
	AgentSessionID string `json:"agent_session_id,omitempty"`
	// Machine is set at home for the session of another machine.
	Machine *Machine `json:"machine,omitempty"`
}

// Machine is the machine whose session a line is, in the list of its home.
type Machine struct {
	ID    string       `json:"id"`
	Name  string       `json:"name"`
	State MachineState `json:"state"`
	// Since is from when it is connected, or until when it was; absent if it never was.
	Since time.Time `json:"since,omitzero"`
}

// MachineState is how a machine stands with its home.
type MachineState string

// The states of machines.
const (
	MachineConnected MachineState = "connected"
	// MachineAway means that it is not connected: asleep, off, or without a network.
	MachineAway MachineState = "away"
)

// Values lists the states.
func (MachineState) Values() []string { return []string{"connected", "away"} }
