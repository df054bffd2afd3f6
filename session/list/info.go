package list

import (
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Info is one line of the session list.
type Info = state.Info

// infoOf returns the line of a session with this metadata, without its forks and
// lifecycle.
func infoOf(m journal.Metadata) Info {
	worktree := m.Worktree
	if m.Imported {
		worktree = nil // it is another hub's
	}
	info := Info{
		SessionID:   m.SessionID,
		Name:        m.Name,
		Agent:       m.Agent,
		Workspace:   m.Workspace,
		ProjectRoot: m.ProjectRoot,
		CreatedAt:   m.CreatedAt,
		UpdatedAt:   m.UpdatedAt,
		Status:      state.Status(m.Status).Shown(m.Imported),
		EventCount:  m.EventCount,
		MinSeq:      m.MinSeq,
		MaxSeq:      m.MaxSeq,
		Epoch:       m.Epoch,
		Archived:    m.Archived,
		Pinned:      m.Pinned,
		Tags:        m.Tags,
		Imported:    m.Imported,
		ForkedFrom:  m.ForkedFrom,
		Adopted:     m.Adopted,
		Worktree:    worktree,
		LastLine:    m.LastLine,

		Resumable:   m.Resumable && !m.Imported,
		ResumeCount: m.ResumeCount,

		LastResumedAt:  m.LastResumedAt,
		AgentSessionID: m.AgentSessionID,
	}
	if m.Job != nil && !m.Imported {
		line := state.JobLineOf(*m.Job)
		if m.JobLine != nil {
			line = *m.JobLine
		}
		line.RequestedBy = m.CreatedBy
		info.Job = &line
		if info.Name == "" {
			info.Name = info.Job.Title
		}
	}
	return info
}
