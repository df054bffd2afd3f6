package wire

import "time"

// Trash is what GET /api/trash answers: the deleted sessions that can be restored, the last
// deleted first.
type Trash struct {
	Sessions []TrashedSession `json:"sessions"`
	// Days is for how long a deleted session can be restored; 0 deletes it at once.
	Days int `json:"days"`
	// Bytes are what all of them take.
	Bytes int64 `json:"bytes"`
}

// TrashedSession is a deleted session that can be restored.
type TrashedSession struct {
	SessionID   string    `json:"session_id"`
	Name        string    `json:"name"`
	Agent       string    `json:"agent"`
	Workspace   string    `json:"workspace"`
	ProjectRoot string    `json:"project_root,omitempty"`
	LastLine    string    `json:"last_line,omitempty"`
	EventCount  int64     `json:"event_count"`
	CreatedAt   time.Time `json:"created_at"`
	// UpdatedAt is the time of the newest event.
	UpdatedAt time.Time `json:"updated_at"`
	// DeletedAt is when it was deleted, and RemovedAt when it is removed for good.
	DeletedAt time.Time `json:"deleted_at"`
	RemovedAt time.Time `json:"removed_at"`
	// Bytes are what its files take.
	Bytes int64 `json:"bytes"`
}
