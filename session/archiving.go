package session

import (
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/space"
)

// archivedAtOnce bounds the sessions that are archived by age in one look: each is opened
// for it. The next look continues.
const archivedAtOnce = 20

// archiveByAge archives the sessions in which nothing happened for as long as the settings
// say, unless they run, wait to be resumed, have prompts in their queue, or are pinned.
func (m *Manager) archiveByAge() {
	after := m.settings.Load().Space.ArchiveAfter
	if after == 0 {
		return
	}
	old := func(info list.Info) bool {
		return !info.Archived && !info.Imported && m.hub.uploads.now().Sub(info.UpdatedAt) > after && space.Stays(info) == "" && !m.waits(info.SessionID)
	}
	var due []string
	for info := range m.lines() {
		if old(info) {
			if due = append(due, info.SessionID); len(due) == archivedAtOnce {
				break
			}
		}
	}
	archived := true
	for _, id := range due {
		meta, listed := m.journal.Listed(id)
		if !listed || !old(m.listed(meta)) {
			continue // something happened in it meanwhile
		}
		if err := m.Update(m.ctx, id, Patch{Archived: &archived}); err != nil && m.ctx.Err() == nil {
			m.logger.Warn("an old session could not be archived", "session", id, "err", err)
		}
	}
	if len(due) > 0 {
		m.logger.Info("archived old sessions", "sessions", len(due), "idle_for", after.Round(time.Hour))
	}
}

// waits reports whether a session has prompts in its queue.
func (m *Manager) waits(id string) bool {
	beside, err := m.journal.Beside(id)
	return err == nil && queue.Waiting(beside)
}

// packedAtOnce bounds the logs that are compressed in one look.
const packedAtOnce = 20

// packArchived compresses the logs of archived sessions that do not run, where the settings
// say so.
func (m *Manager) packArchived() {
	if !m.settings.Load().Space.CompressArchived {
		return
	}
	n := 0
	for info := range m.lines() {
		if m.ctx.Err() != nil || n == packedAtOnce {
			return
		}
		if !info.Archived || space.Stays(info) == space.Running {
			continue
		}
		if bytes, err := m.journal.Unpacked(info.SessionID); err != nil || bytes == 0 {
			continue // it is deleted, or compressed already
		}
		n++
		b, err := m.Session(m.ctx, info.SessionID)
		if err == nil {
			err = b.log.Pack(m.ctx)
		}
		if err != nil && m.ctx.Err() == nil {
			m.logger.Warn("the log of an archived session could not be compressed", "session", info.SessionID, "err", err)
		}
	}
}

// noteUnarchived says in the log that a person took a session out of the archive, so that its
// age begins again.
func (m *Manager) noteUnarchived(b *BackgroundSession, by event.Actor) error {
	return tell(m.ctx, b.mail, func(e *engine) error {
		note := event.Note{Method: noteUnarchived, Text: event.Text("Taken out of the archive by " + by.Name), By: by.Name, ByID: by.ID}
		_, err := e.write(e.entries(note)...)
		return err
	})
}

const noteUnarchived = "abide/unarchived"
