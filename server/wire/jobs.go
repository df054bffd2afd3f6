package wire

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// NewJob is the request for a job. Absent fields are the hub's defaults.
type NewJob struct {
	// Machine is the id or the name of the machine that makes the job; absent for this hub.
	Machine string `json:"machine,omitempty"`
	// SessionID is the session that delegates the job; absent if none does.
	SessionID string `json:"session_id,omitempty"`
	// Tell gives the agent of that session a prompt with the job's end and result, once.
	Tell  bool   `json:"tell,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Workspace is the absolute path of a folder, or one below ~.
	Workspace string `json:"workspace,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Model     string `json:"model,omitempty"`
	// Options are more settings that it begins with, strings and booleans by the ids of the
	// agent's options. The mode is given as Mode alone.
	Options map[string]json.RawMessage `json:"options,omitempty"`
	// Task is what is to be done, at most 32 KiB.
	Task string `json:"task"`
	// Files are what the task is about: paths below the workspace, and the SHA-256 of files
	// that were uploaded to the session of SessionID, at most 20, which go with the prompt.
	Files []string `json:"files,omitempty"`
	// Policy is what the agent may do; reading when absent.
	Policy event.JobPolicy `json:"policy,omitzero"`
	Caps   event.JobCaps   `json:"caps,omitzero"`
	// Worktree is the working copy that the job makes; false is the workspace itself.
	// Absent: a working copy, if the workspace is in a repository.
	Worktree *JobPlace       `json:"worktree,omitempty"`
	Resume   event.JobResume `json:"resume,omitempty"`
	// Priority: jobs with a higher one start first.
	Priority int `json:"priority,omitempty"`
	// Auditor is the name of a command in the project's configuration that judges the job and
	// its result.
	Auditor string `json:"auditor,omitempty"`
	// Retention is how long the job is to be kept after its end. It is recorded.
	Retention event.JobRetention `json:"retention,omitempty"`
	// Attempts is how many jobs attempt the task, from 2 to 4, each in its own working copy;
	// absent or 1 is one job. Agents and Models are theirs in turn, instead of Agent and
	// Model, at most as many as there are attempts.
	Attempts int      `json:"attempts,omitempty"`
	Agents   []string `json:"agents,omitempty"`
	Models   []string `json:"models,omitempty"`
}

// JobPlace is a NewWorktree, or false.
type JobPlace struct {
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
	Folder string `json:"folder,omitempty"`
	// Here is the workspace itself, as false is.
	Here bool `json:"here,omitempty"`
}

// UnmarshalJSON reads an object or false.
func (p *JobPlace) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("false")) {
		p.Here = true
		return nil
	}
	type object JobPlace
	return json.Unmarshal(data, (*object)(p))
}

// JobInfo is a job. Its session has the same id.
type JobInfo struct {
	JobID string `json:"job_id"`
	// Machine is the one that has it; absent for this hub's.
	Machine *state.Machine `json:"machine,omitempty"`
	// SessionID is the session that delegated it, ScheduleID the schedule that made it.
	SessionID  string `json:"session_id,omitempty"`
	ScheduleID string `json:"schedule_id,omitempty"`
	// Attempts is how many jobs attempt the task; absent is this one alone. AttemptOf is the
	// first of them; absent in the first.
	Attempts  int    `json:"attempts,omitempty"`
	AttemptOf string `json:"attempt_of,omitempty"`
	// Repo is the project, Branch the branch of its working copy.
	Repo        string          `json:"repo"`
	Branch      string          `json:"branch,omitempty"`
	RequestedBy string          `json:"requested_by,omitempty"`
	Agent       string          `json:"agent"`
	Title       string          `json:"title"`
	Status      event.JobStatus `json:"status"`
	// Error says why it is parked, or why it was not completed.
	Error string `json:"error,omitempty"`
	// Waits says why a queued job does not start today: the budget of its project is used up.
	Waits      string             `json:"waits,omitempty"`
	Priority   int                `json:"priority,omitempty"`
	Retention  event.JobRetention `json:"retention,omitempty"`
	CreatedAt  time.Time          `json:"created_at"`
	StartedAt  *time.Time         `json:"started_at,omitempty"`
	FinishedAt *time.Time         `json:"finished_at,omitempty"`
	// Rounds counts its checkpoints; Last is the newest one's line.
	Rounds int    `json:"rounds,omitempty"`
	Last   string `json:"last,omitempty"`
	// What follows is absent in lists.
	Input *event.Job `json:"input,omitempty"`
	// ResultSummary is the agent's last message, at most 16 KiB.
	ResultSummary string    `json:"result_summary,omitempty"`
	Usage         *JobUsage `json:"usage,omitempty"`
	// ChangedFiles are the first 200 files that differ from the job's start, relative to the
	// workspace; Changed counts all. Absent before it is to end.
	ChangedFiles []string `json:"changed_files,omitempty"`
	Changed      int      `json:"changed,omitempty"`
	// Diff is their unified diff; DiffCut means that it is longer than 256 KiB.
	Diff    string `json:"diff,omitempty"`
	DiffCut bool   `json:"diff_cut,omitempty"`
	// NoDiff is why the files are not known.
	NoDiff string `json:"no_diff,omitempty"`
	// Refused counts the actions that its policy refused.
	Refused int `json:"refused,omitempty"`
	// FailedCommands are those whose last run failed, as the agent called them; Tests are the
	// project's test commands that ran.
	FailedCommands []string           `json:"failed_commands,omitempty"`
	Tests          []event.JobCommand `json:"tests,omitempty"`
	// Lock is the checkout where it works; absent outside of repositories, and of a job in a
	// folder itself before it starts. If its branch is another one, the job ends.
	Lock *event.JobLock `json:"lock,omitempty"`
	// Unheld says what of its policy and its limits does not hold with this agent.
	Unheld []string `json:"unheld,omitempty"`
	// Verdicts are those of its auditor, the oldest first.
	Verdicts []event.JobVerdict `json:"verdicts,omitempty"`
}

// JobUsage is what a job used so far.
type JobUsage struct {
	Rounds      int     `json:"rounds"`
	Tokens      int64   `json:"tokens,omitempty"`
	Cost        float64 `json:"cost,omitempty"`
	Events      int64   `json:"events"`
	OutputBytes int64   `json:"output_bytes"`
}

// Jobs is a page of jobs, newest first.
type Jobs struct {
	Jobs []JobInfo `json:"jobs"`
	// NextCursor is absent on the last page.
	NextCursor string `json:"next_cursor,omitempty"`
}

// JobEvent is an event of a job, in its stream.
type JobEvent struct {
	Timestamp time.Time      `json:"timestamp"`
	Type      JobEventType   `json:"type"`
	Source    JobEventSource `json:"source"`
	Message   string         `json:"message"`
	// Detail is the step, the checkpoint, or which call it is.
	Detail json.RawMessage `json:"detail,omitempty"`
	// Seq is that of the event of the session.
	Seq event.Seq `json:"seq"`
}

// JobEventType is the kind of an event of a job.
type JobEventType string

const (
	JobStatus     JobEventType = "status" // message: the status
	JobToolCall   JobEventType = "tool_call"
	JobToolResult JobEventType = "tool_result"
	JobCheckpoint JobEventType = "checkpoint" // message: what was done
	JobLog        JobEventType = "log"
	JobError      JobEventType = "error"
)

// Values lists the set.
func (JobEventType) Values() []string {
	return []string{"status", "tool_call", "tool_result", "checkpoint", "log", "error"}
}

// JobEventSource says whose an event of a job is.
type JobEventSource string

const (
	FromOrchestrator JobEventSource = "orchestrator" // the hub, about the job
	FromCoder        JobEventSource = "coder"        // the agent
	FromAuditor      JobEventSource = "auditor"
	FromSystem       JobEventSource = "system" // the hub, about itself
)

// Values lists the set.
func (JobEventSource) Values() []string {
	return []string{"orchestrator", "coder", "auditor", "system"}
}
