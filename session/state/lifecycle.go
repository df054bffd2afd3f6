package state

import "github.com/abidehub/abide/session/event"

// Lifecycle is how far a session is, in the words of session stores.
type Lifecycle string

// The lifecycles. docs/protocol.md has the table of who sets each.
const (
	LifecycleActive    Lifecycle = "active"
	LifecyclePaused    Lifecycle = "paused"    // by a person, or cut off
	LifecycleCompleted Lifecycle = "completed" // ended, or another hub's
	LifecycleFailed    Lifecycle = "failed"
	LifecycleExpired   Lifecycle = "expired" // idle for long, or without its workspace
)

// Values lists the set.
func (Lifecycle) Values() []string {
	return []string{"active", "paused", "completed", "failed", "expired"}
}

// LifecycleOf is the lifecycle of a session with that status. job is nil if it is none.
// expired says that the session is past its time, which counts if it is idle and does not
// wait to be resumed.
func LifecycleOf(s Status, resumable bool, job *event.JobLine, expired bool) Lifecycle {
	switch {
	case s == StatusPaused, s == StatusInterrupted:
		return LifecyclePaused
	case s == StatusFailed, s == StatusDamaged, s == StatusEnded && job != nil && job.Status == event.JobFailed:
		return LifecycleFailed
	case s == StatusEnded, s == StatusImported:
		return LifecycleCompleted
	case s == StatusIdle && expired && !resumable:
		return LifecycleExpired
	}
	return LifecycleActive
}
