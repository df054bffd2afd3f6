package session

import (
	"errors"
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

// jobIsDue reports whether a job's time is over.
func jobIsDue(info list.Info, now time.Time) bool {
	if info.Job == nil || !info.Job.Status.Ended() {
		return false
	}
	kept := keptFor(info.Job)
	return kept > 0 && now.Sub(info.UpdatedAt) >= kept // a later prompt keeps it longer
}

// putAwayJobs puts the jobs whose retention is over into the trash, unless something speaks
// for them.
func (m *Manager) putAwayJobs() {
	now := m.hub.uploads.now()
	var due []list.Info
	for info := range m.lines() {
		if jobIsDue(info, now) {
			due = append(due, info)
		}
	}
	stays, err := m.stays(m.ctx, due)
	if err != nil {
		m.logger.Warn("jobs whose retention is over stay", "err", err)
		return
	}
	for _, info := range due {
		id := info.SessionID
		if m.ctx.Err() != nil {
			return
		}
		if stays[id] != "" {
			continue
		}
		err := m.putAwayIf(m.ctx, id, func() error {
			return m.stillGoes(m.ctx, id, func(info list.Info) bool { return jobIsDue(info, now) })
		})
		if errors.As(err, new(staysError)) || errors.Is(err, state.ErrNotFound) {
			continue // something happened in it meanwhile
		}
		if err != nil {
			m.logger.Warn("a job whose retention is over stays", "session", id, "err", err)
			continue
		}
		m.logger.Info("a job was put into the trash: its retention is over", "session", id)
	}
}
