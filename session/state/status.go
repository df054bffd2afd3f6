package state

// Status summarises a session for lists.
type Status string

const (
	StatusIdle        Status = "idle"
	StatusRunning     Status = "running"
	StatusNeedsYou    Status = "needs_you"   // a permission request is open, the agent wants a login, or a turn waits for a choice
	StatusFailed      Status = "failed"      // the latest turn ended with an error, or the agent does not start
	StatusInterrupted Status = "interrupted" // the latest turn was cut off, and a person decides
	StatusPaused      Status = "paused"      // by a person
	StatusEnded       Status = "ended"
	StatusImported    Status = "imported" // from another hub, read-only
	StatusDamaged     Status = "damaged"  // the log needs attention
)

// Shown returns the status in lists of a session whose own status is s: an imported one
// is imported unless it is damaged, and one that was never opened is idle.
func (s Status) Shown(imported bool) Status {
	switch {
	case imported && s != StatusDamaged:
		return StatusImported
	case s == "":
		return StatusIdle
	}
	return s
}

// Values lists the set.
func (Status) Values() []string {
	return []string{"idle", "running", "needs_you", "failed", "interrupted", "paused", "ended", "imported", "damaged"}
}
