package journal

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Metadata is a session's summary for lists, and the checkpoint from which its log
// is opened. It may lag behind the log. It can be rebuilt from the log, except for the
// labels: Name where Named, Archived, Pinned, Imported, Tags.
//
// The store owns the numbers; UpdateMetadata cannot change them. The session
// owns the rest.
type Metadata struct {
	Format    int    `json:"format"`
	SessionID string `json:"session_id"`
	Name      string `json:"name,omitempty"`
	// Named means that a person gave the name.
	Named          bool   `json:"named,omitempty"`
	Agent          string `json:"agent,omitempty"`
	AgentSessionID string `json:"agent_session_id,omitempty"`
	Workspace      string `json:"workspace,omitempty"`
	ProjectRoot    string `json:"project_root,omitempty"`
	CreatedBy      string `json:"created_by,omitempty"`
	CreatedByID    string `json:"created_by_id,omitempty"`
	// RequestKey and RequestHash are session_start's.
	RequestKey  string `json:"request_key,omitempty"`
	RequestHash string `json:"request_hash,omitempty"`
	// Policy is session_start's too; it must not be changed.
	Policy *event.Policy `json:"policy,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	// UpdatedAt is the time of the newest event; the store keeps it.
	UpdatedAt time.Time `json:"updated_at"`
	// Status is the session's own status text.
	Status   string `json:"status,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	// Tags are a person's words for lists; a change replaces the list.
	Tags []string `json:"tags,omitempty"`
	// Imported means that another hub wrote the events: the log is read-only.
	Imported bool `json:"imported,omitempty"`
	// ForkedFrom is the place in another session that this one was forked from. It is
	// session_start's, except in older logs.
	ForkedFrom *event.Forked `json:"forked_from,omitempty"`
	// Adopted is session_start's: the agent's session that this one continues.
	Adopted *event.Adopted `json:"adopted,omitempty"`
	// Worktree is session_start's; it must not be changed.
	Worktree *event.Worktree `json:"worktree,omitempty"`
	// Job is session_start's too, and JobLine how far it is; nil if the session is none.
	Job     *event.Job     `json:"job,omitempty"`
	JobLine *event.JobLine `json:"job_line,omitempty"`
	// LastLine is a line of text for lists.
	LastLine string `json:"last_line,omitempty"`
	Mode     string `json:"mode,omitempty"`
	// Interruptions counts interrupted turns; nil if there are none.
	Interruptions *event.InterruptionCounts `json:"interruptions,omitempty"`

	// Resumable means that the session waits to be resumed: after a pause, an interruption
	// or a person's mark. ResumeCount counts the resumes, and LastResumedAt is the time of
	// the last one; nil before it.
	Resumable     bool       `json:"resumable,omitempty"`
	ResumeCount   int        `json:"resume_count,omitempty"`
	LastResumedAt *time.Time `json:"last_resumed_at,omitempty"`

	// EventCount is the number of readable events, including placeholders.
	EventCount int64 `json:"event_count"`
	// MinSeq and MaxSeq are the first and last visible seq.
	MinSeq event.Seq `json:"min_seq"`
	MaxSeq event.Seq `json:"max_seq"`
	// Epoch is the log's identity: 16 hex digits.
	Epoch string `json:"epoch"`

	// Checkpoint is how much of the log is known to be synced.
	Checkpoint
	// Writer is the run that has the log open and may have shown unsynced events;
	// nil once it was closed cleanly or is idle.
	Writer *Writer `json:"writer,omitempty"`
	// Frozen means that the device failed to store the lines after the checkpoint.
	Frozen bool `json:"frozen,omitempty"`
	// FrozenSeq is the last seq that was written then, which readers may have seen;
	// zero unless Frozen.
	FrozenSeq event.Seq `json:"frozen_seq,omitempty"`
	// Damage counts faults that recovery and readers found and that cannot be
	// repaired.
	Damage *Damage `json:"damage,omitempty"`
	// Born is the birth time of this very file. A file that was copied over with
	// another's bytes has another birth time.
	Born string `json:"born,omitempty"`
}

// Checkpoint is the end of the last line known to be on the device.
type Checkpoint struct {
	SyncedSeq event.Seq `json:"synced_seq"`
	// LogFirst is the first seq of the file that holds the line of SyncedSeq.
	LogFirst event.Seq `json:"log_first"`
	// LogBytes is where that line ends in that file.
	LogBytes int64 `json:"log_bytes"`
	// TailCRC is the checksum of that line, as 8 hex digits.
	TailCRC string `json:"tail_crc"`
	// Irregular means that the file has repeated seqs, so that places in it are
	// found by a scan only.
	Irregular bool `json:"irregular,omitempty"`
	// LogBorn is the birth time of the active file; empty if unknown. A copy of the
	// file has another.
	LogBorn string `json:"log_born,omitempty"`
}

// Writer names the program run that has a log open.
type Writer struct {
	BootID string `json:"boot_id"`
	RunID  string `json:"run_id"`
}

// Clone copies the parts of m that a caller could change.
func (m Metadata) Clone() Metadata {
	if m.Damage != nil {
		d := *m.Damage
		m.Damage = &d
	}
	if m.Writer != nil {
		w := *m.Writer
		m.Writer = &w
	}
	return m
}
