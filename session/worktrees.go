package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/worktree"
)

// WorkingCopy is a git worktree that abide made.
type WorkingCopy = worktree.Copy

// noteWorktreeRemoved is the method of the note that a session's working copy is gone.
const noteWorktreeRemoved = "abide/worktree_removed"

// WorktreeRemoval asks to remove a working copy.
type WorktreeRemoval struct {
	Folder string
	// Discard also removes its branch, with commits that are nowhere else.
	Discard bool
	// Confirm has what of worktree.Needs a person confirmed.
	Confirm []string
	Actor   event.Actor
}

// Worktrees lists the working copies that abide made, also those of no session.
func (m *Manager) Worktrees(ctx context.Context) ([]worktree.Copy, error) {
	uses, folders := m.worktreeUses()
	return m.worktrees.All(ctx, m.settings.Load(), uses, folders)
}

// StatesSize is what the states of files of a session take.
type StatesSize = filestate.Size

// StatesSizes lists what the states of files take that are kept for undo.
func (m *Manager) StatesSizes(ctx context.Context) []StatesSize {
	ctx, cancel := context.WithTimeout(ctx, statesSizeBound)
	defer cancel()
	return m.hub.states.Sizes(ctx)
}

// statesSizeBound limits the time to add up the states of files.
const statesSizeBound = 5 * time.Second

// worktreeUses lists the sessions that work in a working copy of this hub, and the folders
// that the other sessions work in.
func (m *Manager) worktreeUses() (uses []worktree.Use, folders []string) {
	for _, meta := range m.journal.List() {
		w := worktreeOf(meta)
		if w == nil {
			folders = append(folders, meta.Workspace)
			continue
		}
		status := state.Status(meta.Status)
		uses = append(uses, worktree.Use{
			SessionID: meta.SessionID, Name: meta.Name, Worktree: *w,
			Over: meta.Archived || status == state.StatusEnded,
			Busy: status == state.StatusRunning || status == state.StatusNeedsYou,
		})
	}
	trash, err := m.journal.Trashed()
	if err != nil {
		m.logger.Warn("the working copies of sessions in the trash are not known", "err", err)
	}
	for _, one := range trash {
		if w := worktreeOf(one.Metadata); w != nil {
			uses = append(uses, worktree.Use{SessionID: one.SessionID, Name: one.Name, Worktree: *w, Over: true, Trashed: true})
		}
	}
	return uses, folders
}

// RemoveWorktree removes a working copy, and ends the sessions that use it. It is
// *resume.NeedsConfirmation while something would be lost that was not confirmed.
func (m *Manager) RemoveWorktree(ctx context.Context, r WorktreeRemoval) error {
	all, err := m.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Folder == r.Folder {
			return m.removeWorktree(ctx, c, r)
		}
	}
	return fmt.Errorf("%w: no working copy in %q", state.ErrNotFound, r.Folder)
}

func (m *Manager) removeWorktree(ctx context.Context, c worktree.Copy, r WorktreeRemoval) error {
	if err := c.Removable(); err != nil {
		return err
	}
	if needs := c.Needs(r.Discard, r.Confirm); len(needs) > 0 {
		return &resume.NeedsConfirmation{Needs: needs, What: "this is lost or ended with the working copy: " + c.Words()}
	}
	for _, u := range c.Sessions {
		if u.Trashed {
			continue
		}
		b, err := m.Session(ctx, u.SessionID)
		if err == nil {
			err = b.End(ctx, "its working copy was removed", r.Actor)
		}
		if err != nil {
			return fmt.Errorf("end session %s, which works in the copy: %w", u.SessionID, err)
		}
	}
	if err := m.worktrees.Remove(ctx, c, r.Discard, func() error { return m.copyIsGone(ctx, c, r.Actor) }); err != nil {
		return err
	}
	m.logger.Info("working copy removed", "folder", c.Folder, "actor", r.Actor.Name)
	return nil
}

// copyIsGone notes in the sessions of a copy that it was removed. A session that cannot be
// opened says nothing.
func (m *Manager) copyIsGone(ctx context.Context, c worktree.Copy, by event.Actor) error {
	for _, u := range c.Sessions {
		if u.Trashed {
			continue
		}
		b, err := m.Session(ctx, u.SessionID)
		if err == nil {
			err = b.noteRemoved(ctx, c, by)
		}
		if err != nil {
			m.logger.Warn("a session does not say that its working copy was removed", "session", u.SessionID, "err", err)
		}
	}
	return ctx.Err()
}

// recoverWorktrees ends what a kill of the hub interrupted.
func (m *Manager) recoverWorktrees() {
	uses, folders := m.worktreeUses()
	m.worktrees.Recover(m.ctx, m.settings.Load(), uses, folders, func(c worktree.Copy) error {
		return m.copyIsGone(m.ctx, c, state.TheHub())
	})
}

// noteRemoved says in the session that its copy was removed, once also if a kill came after
// it was said.
func (b *BackgroundSession) noteRemoved(ctx context.Context, c worktree.Copy, by event.Actor) error {
	n := event.Note{Method: noteWorktreeRemoved, Text: event.Text("The working copy " + c.Folder + " was removed."), By: by.Name, ByID: by.ID}
	latest, err := b.log.ReadBefore(ctx, b.log.Marks().Visible+1, removedWithin)
	if err != nil {
		return err
	}
	events, err := latest.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		if p, err := e.Payload(); err == nil {
			if before, is := p.(event.Note); is && before.Method == n.Method && before.Text == n.Text {
				return nil
			}
		}
	}
	return tell(ctx, b.mail, func(e *engine) error {
		_, err := e.write(e.entries(n)...)
		return err
	})
}

// removedWithin is among how many of the latest events of an ended session the note is looked for.
const removedWithin = 20

// PruneWorktrees removes the working copies of which nothing is lost and that no session
// uses that is not over. It returns all that there were, and which of them it removed.
func (m *Manager) PruneWorktrees(ctx context.Context, actor event.Actor) (all []worktree.Copy, removed map[string]bool, err error) {
	if all, err = m.Worktrees(ctx); err != nil {
		return nil, nil, err
	}
	removed = map[string]bool{}
	for _, c := range all {
		if !c.Safe() {
			continue
		}
		if err := m.removeWorktree(ctx, c, WorktreeRemoval{Folder: c.Folder, Actor: actor}); err != nil {
			m.logger.Warn("a working copy was not removed", "folder", c.Folder, "err", err)
			continue
		}
		removed[c.Folder] = true
	}
	return all, removed, nil
}
