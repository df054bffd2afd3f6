package state

// Status summarises a session for lists.
type Status string

const (
	StatusIdle        Status = "idle"
	StatusRunning     Status = "running"
	StatusNeedsYou    Status = "needs_you"   // a permission request is open, or the agent wants a login
	StatusFailed      Status = "failed"      // the latest turn ended with an error, or the agent does not start
	StatusInterrupted Status = "interrupted" // the latest turn was cut off, and a person decides
	StatusEnded       Status = "ended"
	StatusImported    Status = "imported" // from another hub, read-only
	StatusDamaged     Status = "damaged"  // the log needs attention
)

// Values lists the set.
func (Status) Values() []string {
	return []string{"idle", "running", "needs_you", "failed", "interrupted", "ended", "imported", "damaged"}
}
