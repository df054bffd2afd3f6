package list

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Info is one line of the session list.
type Info struct {
	SessionID   string
	Name        string
	Agent       string
	Workspace   string
	ProjectRoot string
	CreatedAt   time.Time
	// UpdatedAt is the time of the newest event.
	UpdatedAt  time.Time
	Status     state.Status
	EventCount int64
	MinSeq     event.Seq
	MaxSeq     event.Seq
	Epoch      string
	Archived   bool
	Pinned     bool
	ForkedFrom *event.Forked
	Forks      []event.Forked
	Imported   bool // from another hub, read-only
	// LastLine is the open request if the session needs a person, the problem if it
	// failed, else the last line of the newest message.
	LastLine string
}

// infoOf returns the line of a session with this metadata, without its forks. A session
// that the hub has not opened yet is idle.
func infoOf(m journal.Metadata) Info {
	status := state.Status(m.Status)
	if status == "" {
		status = state.StatusIdle
	}
	return Info{
		SessionID:   m.SessionID,
		Name:        m.Name,
		Agent:       m.Agent,
		Workspace:   m.Workspace,
		ProjectRoot: m.ProjectRoot,
		CreatedAt:   m.CreatedAt,
		UpdatedAt:   m.UpdatedAt,
		Status:      status,
		EventCount:  m.EventCount,
		MinSeq:      m.MinSeq,
		MaxSeq:      m.MaxSeq,
		Epoch:       m.Epoch,
		Archived:    m.Archived,
		Pinned:      m.Pinned,
		Imported:    m.Imported,
		ForkedFrom:  m.ForkedFrom,
		LastLine:    m.LastLine,
	}
}
