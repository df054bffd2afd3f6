package wire

import (
	"time"

	"github.com/abidehub/abide/session/state"
)

// StorageReport is what GET /api/storage answers: what all sessions take, in bytes.
type StorageReport struct {
	Sessions  int `json:"sessions"`
	Active    int `json:"active"`
	Resumable int `json:"resumable"`
	// Unmeasured counts the sessions whose bytes are not known yet.
	Unmeasured int         `json:"unmeasured,omitempty"`
	Bytes      StoredBytes `json:"bytes"`
	// Used is the sum of Bytes, which counts against the quota, and Average what a session
	// takes.
	Used    int64 `json:"used"`
	Average int64 `json:"average"`
	// TrashSessions counts those in the trash.
	TrashSessions int `json:"trash_sessions"`
	// Quota is 0 for none. From WarnAt of it the hub warns, with Warning. QuotaReached is the
	// day on which it is reached at the rate of the last four weeks; absent if it is not in
	// sight.
	Quota        int64      `json:"quota"`
	WarnAt       float64    `json:"warn_at"`
	Warning      string     `json:"warning,omitempty"`
	QuotaReached *time.Time `json:"quota_reached,omitempty"`
	// Weeks are the last twelve, oldest first.
	Weeks []StoredWeek `json:"weeks"`
	// Largest are the sessions that take most, and Projects the folders, at most 20 of each.
	Largest  []StoredSession `json:"largest"`
	Projects []StoredProject `json:"projects"`
	// Clean is what the hub cleans by itself, and what a clean-up without fields does.
	Clean CleanRule `json:"clean"`
}

// StoredBytes are what sessions take: their logs, large values and uploads, what is derived
// from the logs, other files, the files kept for undo, the working copies, and the trash.
type StoredBytes struct {
	Log     int64 `json:"log"`
	Blobs   int64 `json:"blobs"`
	Derived int64 `json:"derived"`
	Other   int64 `json:"other"`
	States  int64 `json:"states"`
	Copies  int64 `json:"copies"`
	Trash   int64 `json:"trash"`
}

// StoredWeek is what was written in the week that begins with Start. The bytes of a session
// are spread evenly over its life.
type StoredWeek struct {
	Start time.Time `json:"start"`
	// Sessions counts those that were made in it.
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
}

// StoredSession is a session and what its files take.
type StoredSession struct {
	SessionID   string          `json:"session_id"`
	Name        string          `json:"name"`
	Agent       string          `json:"agent"`
	Workspace   string          `json:"workspace"`
	ProjectRoot string          `json:"project_root,omitempty"`
	Lifecycle   state.Lifecycle `json:"lifecycle"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Bytes       int64           `json:"bytes"`
	// CopyBytes are what its working copy takes, which stays when the session goes.
	CopyBytes int64 `json:"copy_bytes,omitempty"`
}

// StoredProject is what the sessions of a project root, or of a workspace without one, take.
type StoredProject struct {
	Folder   string `json:"folder"`
	Sessions int    `json:"sessions"`
	Bytes    int64  `json:"bytes"`
}

// CleanRule says which sessions are put away by themselves. The durations are such as 168h.
type CleanRule struct {
	Enabled    bool              `json:"enabled"`
	Every      string            `json:"every"`
	OlderThan  string            `json:"older_than"`
	Lifecycles []state.Lifecycle `json:"lifecycles"`
}

// CleanStorage is the body of POST /api/storage/clean. Without SessionIDs it is about the
// sessions in which nothing happened for OlderThan, of the Lifecycles and of the Project.
type CleanStorage struct {
	// DryRun puts nothing away.
	DryRun bool `json:"dry_run,omitempty"`
	// OlderThan is a duration such as 720h. It and Lifecycles are those of storage.clean if
	// they are absent; an empty list of lifecycles is refused.
	OlderThan  *string            `json:"older_than,omitempty"`
	Lifecycles *[]state.Lifecycle `json:"lifecycles,omitempty"`
	// Project is a project root or a workspace; empty is each.
	Project string `json:"project,omitempty"`
	// SessionIDs are whole ids. A session that is named goes whatever speaks for it.
	SessionIDs []string `json:"session_ids,omitempty"`
}

// Exact marks a body that is refused if it is empty, or has a field that is unknown or null: it
// would do more than was meant. It says what to send.
func (CleanStorage) Exact() string {
	return `send {"dry_run":true} to list the sessions that storage.clean is about, {} to put them into the trash`
}

// CleanedStorage is what a clean-up put away, or would with DryRun.
type CleanedStorage struct {
	DryRun bool `json:"dry_run"`
	// ForGood means that there is no trash: they are deleted.
	ForGood bool `json:"for_good"`
	// Sessions are in the order of what they take, the most first, then of their last use.
	// Count counts them, and Bytes is what they take.
	Sessions []StoredSession `json:"sessions"`
	Count    int             `json:"count"`
	Bytes    int64           `json:"bytes"`
	// Stayed counts the sessions of the choice that stay, by the reason: running, damaged,
	// resumable, pinned, waiting, commented, restored, used, unmerged.
	Stayed map[string]int `json:"stayed"`
}
