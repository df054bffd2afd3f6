package event

import (
	"encoding/json"
	"time"
)

// Job is what a job is given: a session with a goal, a policy and an end. It does not
// change.
type Job struct {
	// Task is its first prompt.
	Task string `json:"task"`
	// Files are paths below the workspace that the task is about.
	Files []string `json:"files,omitempty"`
	// Attachments are files that its first prompt has. The job's session keeps a copy of each.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Mode and Model are those that were asked for; empty are the agent's own.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Options are those of the agent that were asked for: strings and booleans by their ids.
	Options map[string]json.RawMessage `json:"options,omitempty"`
	// DelegatedBy is the session that gave the job; empty if a person or a program did.
	DelegatedBy string `json:"delegated_by,omitempty"`
	// Tell means that the agent of that session gets a prompt with the job's end.
	Tell bool `json:"tell,omitempty"`
	// ScheduleID is the schedule that made the job; empty if none did.
	ScheduleID string `json:"schedule_id,omitempty"`
	// RetryOf is the job that this one does again.
	RetryOf string `json:"retry_of,omitempty"`
	// Attempts is how many jobs attempt the task, each in its own working copy; 0 is this
	// one alone. AttemptOf is the first of them; empty in the first.
	Attempts  int       `json:"attempts,omitempty"`
	AttemptOf string    `json:"attempt_of,omitempty"`
	Policy    JobPolicy `json:"policy"`
	Caps      JobCaps   `json:"caps"`
	// Resume is what happens to an interrupted job; empty is JobAsk.
	Resume JobResume `json:"resume,omitempty"`
	// Priority: jobs with a higher one start first.
	Priority int `json:"priority,omitempty"`
	// Auditor is the name of a command of the configuration that judges the job and its
	// result; empty if none was asked for.
	Auditor string `json:"auditor,omitempty"`
	// Retention is how long it is kept after its end; empty is as long as other
	// sessions.
	Retention JobRetention `json:"retention,omitempty"`
}

// JobPolicy is what a job's agent may do. Nobody is asked.
type JobPolicy struct {
	// Preset is where the list comes from; empty if it was given.
	Preset JobPreset `json:"preset,omitempty"`
	// Allow lists the actions that are allowed. Everything else is outside.
	Allow []Allowed `json:"allow"`
	// Outside is what happens to other requests; empty is OutsideDeny.
	Outside Outside `json:"outside,omitempty"`
}

// Allowed is a kind of action, at a place or with a command.
type Allowed struct {
	Kind ToolKind `json:"kind"`
	// Path is a file or a folder with all below it, relative to the workspace; empty is
	// the workspace.
	Path string `json:"path,omitempty"`
	// Command, for KindExecute, is a whole command; with " *" at its end, the words that
	// a command begins with.
	Command string `json:"command,omitempty"`
}

// JobCaps end a job that reaches one. 0 is no cap.
type JobCaps struct {
	// WallS are the seconds since it started, RoundS those that its agent is silent.
	WallS  int64 `json:"wall_s,omitempty"`
	RoundS int64 `json:"round_s,omitempty"`
	// Rounds are counted as in JobCheckpoint.
	Rounds int `json:"rounds,omitempty"`
	// Tokens and Cost are those that the agent reports.
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	// Events are those of the log, OutputBytes what the agent and its tools said.
	Events      int64 `json:"events,omitempty"`
	OutputBytes int64 `json:"output_bytes,omitempty"`
}

// JobCheckpoint is one round of a job: what lies between two answers of the model.
type JobCheckpoint struct {
	// N counts the rounds from 1.
	N int `json:"n"`
	// Files are those that were changed, Commands counts the commands that ran, Failures
	// the calls that failed.
	Files    []string `json:"files,omitempty"`
	Commands int      `json:"commands,omitempty"`
	Failures int      `json:"failures,omitempty"`
	// Tokens are those of the agent's context at its end.
	Tokens int64 `json:"tokens,omitempty"`
	// Line says what was done.
	Line string `json:"line"`
}

// JobCommand is a command that a job's agent ran, as it called it.
type JobCommand struct {
	Command string `json:"command"`
	// Failed means that its last run failed.
	Failed bool `json:"failed,omitempty"`
}

// JobStep is a step in the life of a job.
type JobStep struct {
	// Status is JobRunning when it starts, JobParked when it could not go on by itself,
	// JobStopping when it is to end before its time,
	// and one of the last three when it ended.
	Status JobStatus `json:"status"`
	// Reason is why, in a sentence.
	Reason string `json:"reason,omitempty"`
	// Cap names the cap that was reached, as JobCaps does.
	Cap string `json:"cap,omitempty"`
	// Unheld says, where the job starts, what of its policy and its caps does not hold.
	Unheld []string `json:"unheld,omitempty"`
	// Lock is where a job starts that works in a folder itself; absent outside of
	// repositories.
	Lock *JobLock `json:"lock,omitempty"`
}

// JobLock is where a job works. One that finds itself on another branch ends.
type JobLock struct {
	// Repository is the folder of the checkout.
	Repository string `json:"repository"`
	// Branch is empty where HEAD names a commit.
	Branch string `json:"branch,omitempty"`
	// Commit is where the job began; empty if the branch had none.
	Commit string `json:"commit,omitempty"`
}

// JobLine is a job in lists.
type JobLine struct {
	Status JobStatus `json:"status"`
	// Title is the first sentence of the task.
	Title string `json:"title"`
	// Reason is why it is parked, or how it ended.
	Reason   string `json:"reason,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Retention is that of Job.
	Retention   JobRetention `json:"retention,omitempty"`
	DelegatedBy string       `json:"delegated_by,omitempty"`
	ScheduleID  string       `json:"schedule_id,omitempty"`
	// Attempts and AttemptOf are those of Job.
	Attempts  int    `json:"attempts,omitempty"`
	AttemptOf string `json:"attempt_of,omitempty"`
	// RequestedBy is who made it.
	RequestedBy string `json:"requested_by,omitempty"`
	// StartedAt and FinishedAt are absent before.
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	// Rounds counts its checkpoints; Last is the newest one's line.
	Rounds int    `json:"rounds,omitempty"`
	Last   string `json:"last,omitempty"`
}

// JobStatus is where a job is.
type JobStatus string

const (
	JobQueued    JobStatus = "queued"
	JobRunning   JobStatus = "running"
	JobStopping  JobStatus = "stopping" // it is being cancelled
	JobParked    JobStatus = "parked"   // it waits for a person
	JobCompleted JobStatus = "completed"
	JobFailed    JobStatus = "failed"
	JobCancelled JobStatus = "cancelled"
)

// Values lists the set.
func (JobStatus) Values() []string {
	return []string{"queued", "running", "stopping", "parked", "completed", "failed", "cancelled"}
}

// Ended reports whether the job is over.
func (s JobStatus) Ended() bool { return s == JobCompleted || s == JobFailed || s == JobCancelled }

// JobPreset is a common list of allowed actions.
type JobPreset string

const (
	// PresetRead allows reading and searching below the workspace.
	PresetRead JobPreset = "read"
	// PresetEdit also allows editing, deleting and moving files there.
	PresetEdit JobPreset = "edit"
	// PresetEditTest also allows the project's test commands.
	PresetEditTest JobPreset = "edit_test"
)

// Values lists the set.
func (JobPreset) Values() []string { return []string{"read", "edit", "edit_test"} }

// Outside is what happens to a request that a job's list does not allow.
type Outside string

const (
	OutsideDeny Outside = "deny"
	OutsidePark Outside = "park" // it waits for a person
)

// Values lists the set.
func (Outside) Values() []string { return []string{"deny", "park"} }

// JobRetention is how long a job is kept after its end.
type JobRetention string

const (
	KeepDay     JobRetention = "24h"
	KeepWeek    JobRetention = "168h"
	KeepForever JobRetention = "forever"
)

// Values lists the set.
func (JobRetention) Values() []string { return []string{"24h", "168h", "forever"} }

// JobResume is what happens to an interrupted job.
type JobResume string

const (
	JobAsk  JobResume = "ask"  // it waits for a person
	JobAuto JobResume = "auto" // it goes on, if nothing has to be confirmed
)

// Values lists the set.
func (JobResume) Values() []string { return []string{"ask", "auto"} }

// Words says a step for a person.
func (s JobStep) Words() string {
	words := map[JobStatus]string{
		JobRunning: "The job started.", JobParked: "The job waits for a person.", JobStopping: "The job is being cancelled.", JobCompleted: "The job is completed.",
		JobFailed: "The job failed.", JobCancelled: "The job was cancelled.",
	}[s.Status]
	if s.Reason != "" {
		words += " " + s.Reason
	}
	for _, unheld := range s.Unheld {
		words += " " + unheld
	}
	return words
}
