package session

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// keptFor is how long a job is kept after its end; 0 is for good.
func keptFor(j *event.JobLine) time.Duration {
	switch j.Retention {
	case event.KeepDay:
		return 24 * time.Hour
	case event.KeepWeek:
		return 7 * 24 * time.Hour
	case event.KeepForever:
	}
	return 0
}

// jobIsDue reports whether a job's time is over, and nothing speaks against putting it away.
func jobIsDue(info list.Info, now time.Time) bool {
	if info.Job == nil || !info.Job.Status.Ended() || info.Pinned || info.Resumable {
		return false
	}
	switch info.Status {
	case state.StatusEnded, state.StatusIdle, state.StatusFailed:
	case state.StatusRunning, state.StatusNeedsYou, state.StatusInterrupted, state.StatusPaused, state.StatusImported, state.StatusDamaged:
		return false
	}
	kept := keptFor(info.Job)
	return kept > 0 && now.Sub(info.UpdatedAt) >= kept // a later prompt keeps it longer
}

// putAwayJobs puts the jobs whose retention is over into the trash. It keeps those that are
// pinned, commented, to be resumed, or whose working copy has changes that are nowhere else.
func (m *Manager) putAwayJobs() {
	now := m.hub.uploads.now()
	due := map[string]bool{}
	copies := false
	for meta := range m.journal.Owned() {
		if _, back := m.restored.Load(meta.SessionID); back {
			continue // see noteRestored
		}
		if info := m.listed(meta); jobIsDue(info, now) {
			due[info.SessionID] = true
			copies = copies || info.Worktree != nil
		}
	}
	if copies && !m.keepUnmerged(due) {
		return
	}
	for id := range due {
		if m.ctx.Err() != nil {
			return
		}
		if err := m.putAwayJob(id); err != nil {
			m.logger.Warn("a job whose retention is over stays", "session", id, "err", err)
		}
	}
}

// keepUnmerged takes those out whose working copy has changes that neither the base nor the
// remote has, and reports whether that is known.
func (m *Manager) keepUnmerged(due map[string]bool) bool {
	all, err := m.Worktrees(m.ctx)
	if err != nil {
		m.logger.Warn("jobs whose retention is over stay", "err", err)
		return false
	}
	for _, c := range all {
		if c.Uncommitted == 0 && c.Commits == 0 && c.Unknown == "" {
			continue
		}
		for _, use := range c.Sessions {
			delete(due, use.SessionID)
		}
	}
	return true
}

func (m *Manager) putAwayJob(id string) error {
	b, err := m.Session(m.ctx, id)
	if err != nil {
		return err
	}
	if comments, _, err := b.Comments().List(); err != nil || len(comments) > 0 {
		return err
	}
	if !jobIsDue(b.Info(), m.hub.uploads.now()) { // meanwhile
		return nil
	}
	remove := func() error { return m.Trash(m.ctx, id, state.TheHub()) }
	if m.settings.Load().TrashFor == 0 {
		remove = func() error { return m.Delete(m.ctx, id) }
	}
	if err := remove(); err != nil {
		return err
	}
	m.logger.Info("a job was put into the trash: its retention is over", "session", id)
	return nil
}
