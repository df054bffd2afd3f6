package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// NewSchedule is the request for jobs that come again.
type NewSchedule struct {
	// Job is what each run makes.
	Job NewJob `json:"job"`
	// Cron has five fields: minute, hour, day of the month, month, day of the week.
	Cron string `json:"cron,omitempty"`
	// Every is a duration instead, like 30m or 24h, from 10s.
	Every string `json:"every,omitempty"`
	// Until: later there is no run.
	Until *time.Time `json:"until,omitempty"`
	// Zone is the time zone of Cron, like Europe/Berlin; the hub's when absent.
	Zone string `json:"zone,omitempty"`
	// Overlap says what becomes of a run whose last job has not ended: skip, also when
	// absent, leaves it out; queue runs it once that job has ended.
	Overlap ScheduleOverlap `json:"overlap,omitempty"`
}

// Schedule makes jobs that come again.
type Schedule struct {
	ScheduleID string `json:"schedule_id"`
	NewSchedule
	Status ScheduleStatus `json:"status"`
	// Reason says why it is paused, if no person did that, or why it has ended.
	Reason string `json:"reason,omitempty"`
	// RequestedBy is whose credential its jobs run by.
	RequestedBy string    `json:"requested_by"`
	CreatedAt   time.Time `json:"created_at"`
	// NextAt is the next due time of an active one.
	NextAt *time.Time `json:"next_at,omitempty"`
	// Outcomes are the last ten, newest first.
	Outcomes []ScheduleOutcome `json:"outcomes"`
}

// ScheduleOutcome is what became of a due time.
type ScheduleOutcome struct {
	Due     time.Time   `json:"due"`
	At      time.Time   `json:"at"`
	Outcome ScheduleRun `json:"outcome"`
	JobID   string      `json:"job_id,omitempty"`
	// JobStatus is the job's now; absent if it is gone.
	JobStatus event.JobStatus `json:"job_status,omitempty"`
	// Error says why no job was made.
	Error string `json:"error,omitempty"`
}

// ScheduleList lists all schedules, oldest first.
type ScheduleList struct {
	Schedules []Schedule `json:"schedules"`
}

// ScheduleStatus is what a schedule does.
type ScheduleStatus string

const (
	ScheduleActive ScheduleStatus = "active"
	SchedulePaused ScheduleStatus = "paused"
	ScheduleEnded  ScheduleStatus = "ended" // no due time is left
)

// Values lists the set.
func (ScheduleStatus) Values() []string { return []string{"active", "paused", "ended"} }

// ScheduleOverlap says what becomes of a run whose last job has not ended.
type ScheduleOverlap string

const (
	OverlapSkip  ScheduleOverlap = "skip"
	OverlapQueue ScheduleOverlap = "queue"
)

// Values lists the set.
func (ScheduleOverlap) Values() []string { return []string{"skip", "queue"} }

// ScheduleRun is what became of a due time.
type ScheduleRun string

const (
	RunStarted ScheduleRun = "started" // its job was made
	RunSkipped ScheduleRun = "skipped" // the last job had not ended
	RunRefused ScheduleRun = "refused" // the job was refused
)

// Values lists the set.
func (ScheduleRun) Values() []string { return []string{"started", "skipped", "refused"} }
